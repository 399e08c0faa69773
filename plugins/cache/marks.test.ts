import { expect, test } from 'vitest'
import { Marks } from './marks.js'

test('what was read before a change of it is touched, and nothing else', () => {
  const marks = new Marks()
  marks.add([1])
  const { count } = marks
  marks.add([2])
  const touched = (since: number, ...reads: number[]): boolean => marks.touch(reads, since)
  expect([touched(count, 1), touched(count, 2), touched(count, 3, 2), touched(count), touched(0, 1), touched(count + 1, 2)]).toEqual([
    false,
    true,
    true,
    false,
    true,
    false
  ])
})

test('every 32-bit hash has a place, and one that meets another there is touched with it', () => {
  const marks = new Marks()
  for (const hash of [0, -1, 0x7fffffff, -0x80000000, 0xffffffff, 65536]) {
    const { count } = marks
    marks.add([hash])
    expect([marks.touch([hash], count), marks.touch([hash ^ 1], count), marks.touch([hash + 65536], count)]).toEqual([true, false, true])
  }
})
