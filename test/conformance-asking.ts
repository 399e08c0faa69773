/** Asks what conformance cases ask, and says which are answered wrongly. */
import { isDeepStrictEqual } from 'node:util'
import { type Answer, readAnswer, requestOctets } from 'skein/testing'
import { type Case, comparable } from './conformance-cases.js'

/** Sends a request, one way or another. */
export type Exchange = (request: Uint8Array) => Promise<Uint8Array | undefined>

/** Asks all of them at once; a line or more for each case that is answered wrongly. */
export async function failuresAmong(cases: readonly Case[], exchange: Exchange): Promise<string[]> {
  const found = await Promise.all(cases.map((each, index) => failureOf(each, index + 1, exchange)))
  return found.flat()
}

async function failureOf(each: Case, id: number, exchange: Exchange): Promise<string[]> {
  let answer: Answer
  try {
    const octets = await exchange(requestOctets(each.ask, { id, edns: 4096 }))
    if (octets === undefined) return [`${each.ask}: no reply`]
    answer = readAnswer(octets)
  } catch (error) {
    return [`${each.ask}: ${String(error)}`]
  }
  const { got, wanted } = comparable(answer, each)
  if (answer.edns === undefined) return [`${each.ask}: no OPT record`]
  if (isDeepStrictEqual(got, wanted)) return []
  return [`${each.ask}\n   got ${JSON.stringify(got)}\nwanted ${JSON.stringify(wanted)}`]
}
