import { expect, test } from 'vitest'
import { InFlight } from './in-flight.js'

test('a question under way is not asked again, and is when it has ended', async () => {
  const inFlight = new InFlight<string>()
  const ends: ((text: string) => void)[] = []
  const ask = (): Promise<string> => new Promise((resolve) => ends.push(resolve))
  const outcomes = [inFlight.ask('a', ask), inFlight.ask('b', ask), inFlight.ask('a', ask)]
  expect([ends.length, inFlight.size, inFlight.askers('a'), inFlight.askers('b'), inFlight.askers('c')]).toEqual([2, 2, 2, 1, 0])
  ends[0]!('one')
  ends[1]!('other')
  expect(await Promise.all(outcomes)).toEqual(['one', 'other', 'one'])
  expect([inFlight.size, inFlight.askers('a')]).toEqual([0, 0])
  const later = inFlight.ask('a', ask)
  ends[2]!('anew')
  expect(await later).toBe('anew')
})

test('one that fails fails for all who wait, and is waited for too', async () => {
  const inFlight = new InFlight<string>()
  let reject: (error: Error) => void = () => {}
  const ask = (): Promise<string> =>
    new Promise((_resolve, no) => {
      reject = no
    })
  const outcomes = Promise.allSettled([inFlight.ask('a', ask), inFlight.ask('a', ask)])
  const ended = inFlight.ended()
  reject(new Error('broken'))
  await ended
  expect(inFlight.size).toBe(0)
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
