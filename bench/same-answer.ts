/** Whether another server says what Skein says. */
import { type Answer, readAnswer } from '../src/testing.js'

/** What is different in another server's reply, in a few words; undefined where both say the same. TTLs and the order of records do not count. */
export function differenceOf(skein: Uint8Array, other: Uint8Array): string | undefined {
  const [ours, theirs] = [readAnswer(skein), readAnswer(other)]
  if (theirs.rcode !== ours.rcode) return `says ${theirs.rcode} where Skein says ${ours.rcode}`
  if (theirs.answer.length !== ours.answer.length) return `has ${theirs.answer.length} answers where Skein has ${ours.answer.length}`
  const said = shown(theirs).find((record) => !shown(ours).includes(record))
  if (said !== undefined) return `says ${said}, which Skein does not`
  for (const section of ['authority', 'additional'] as const)
    if (theirs[section].length !== ours[section].length)
      return `has a number of records in its ${section} section (${theirs[section].length}) that is not Skein's (${ours[section].length})`
  return undefined
}

function shown({ answer }: Answer): string[] {
  return answer.map((record) => record.replace(/ \d+ /, ' ').toLowerCase())
}
