import type { Message } from 'skein/plugin'
import { describe, expect, test } from 'vitest'
import { Entries } from './entries.js'
import { Entry } from './entry.js'

/** A reply with one TXT record of so many octets. */
function reply(octets: number): Message {
  const answer = [{ owner: 'a.example.org.', type: 'TXT', ttl: 60, rdata: [new Uint8Array(octets)] }]
  return { answer, authority: [], additional: [], extendedErrors: [] } as unknown as Message
}

const entry = (key: string, reads: number[] = [], octets = 10): Entry => new Entry('success', key, reply(octets), new Set(reads), 0, 1000)

function filled(count: number, capacity: number, octets = 10): { entries: Entries; evictions: { value: number } } {
  const evictions = { value: 0 }
  const entries = new Entries(capacity, 1_000_000)
  entries.bound(capacity, evictions, 0)
  for (let i = 0; i < count; i++) entries.put(entry(`${i}`, [i % 7], octets), 0)
  return { entries, evictions }
}

describe('entries', () => {
  test('are bounded in number', () => {
    const { entries, evictions } = filled(1000, 100)
    expect([entries.size, evictions.value]).toEqual([100, 900])
  })

  test('are bounded otherwise when that changes, and what has to go goes', () => {
    const { entries, evictions } = filled(100, 100)
    entries.bound(10, evictions, 0)
    expect([entries.size, evictions.value, entries.find('99', 0) !== undefined]).toEqual([10, 90, true])
    entries.bound(20, evictions, 0)
    for (let i = 0; i < 100; i++) entries.put(entry(`${i}`), 0)
    expect(entries.size).toBe(20)
  })

  test('are bounded in memory', () => {
    const { entries, evictions } = filled(1000, 10_000, 20_000)
    expect(entries.size).toBeGreaterThan(10)
    expect(entries.octets).toBeLessThanOrEqual(1_000_000)
    expect(evictions.value).toBe(1000 - entries.size)
  })

  test('that are larger than all of it together are not kept', () => {
    const { entries } = filled(3, 100)
    entries.put(entry('big', [], 600_000), 0)
    expect(entries.size).toBe(3)
    expect(entries.find('big', 0)).toBeUndefined()
  })

  test('stay where they are used, and go where they have ended or were not', () => {
    const { entries } = filled(3, 3)
    entries.find('0', 0)!.isUsed = true
    entries.put(entry('3'), 0)
    expect(['0', '1', '2', '3'].map((key) => entries.find(key, 0) !== undefined)).toEqual([true, false, true, true])
    entries.find('2', 0)!.isUsed = true
    entries.put(new Entry('success', '4', reply(1), new Set(), 2000, 1000), 2000)
    expect(entries.find('2', 0)).toBeUndefined()
  })

  test('that are all used make room all the same', () => {
    const { entries } = filled(3, 3)
    for (const key of ['0', '1', '2']) entries.find(key, 0)!.isUsed = true
    entries.put(entry('3'), 0)
    expect([entries.size, entries.find('3', 0) !== undefined]).toEqual([3, true])
  })

  test('that have ended are not found, and gone', () => {
    const { entries } = filled(3, 3)
    expect(entries.find('0', 999)).toBeDefined()
    expect(entries.find('0', 1000)).toBeUndefined()
    expect(entries.size).toBe(2)
  })

  test('are flushed by what they have read', () => {
    const { entries } = filled(21, 100)
    entries.flush([3, 5, 99])
    expect(entries.size).toBe(15)
    expect(entries.find('3', 0)).toBeUndefined()
    expect(entries.find('4', 0)).toBeDefined()
    for (let hash = 0; hash < 7; hash++) entries.flush([hash])
    expect([entries.size, entries.octets]).toEqual([0, 0])
  })

  test('make room quickly, however many were there before', () => {
    const start = performance.now()
    filled(200_000, 10_000)
    // With an iterator that starts anew each time this takes seconds.
    expect(performance.now() - start).toBeLessThan(3000)
  })
})
