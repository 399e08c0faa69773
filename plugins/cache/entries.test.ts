import fc from 'fast-check'
import { pack } from 'skein/plugin'
import { Message, Question } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { Entries, type NewEntry } from './entries.js'
import { SEGMENT_OCTETS } from './log.js'
import { Marks } from './marks.js'

const question = (name: string): Question => Question.of(`${name}.example.org.`, 16, 1)

/** An entry for that name, of a TXT record with this text so many times, that ends 1000 ms after it was made. */
function entry(name: string, { reads = [] as number[], text = name, times = 1, since = 0, count = 0 } = {}): NewEntry {
  const rdata = Array.from({ length: times }, () => text)
  const reply = Message.of({ flags: 0x8000, answer: [{ owner: 'a.example.org.', type: 'TXT', ttl: 60, rdata }] })
  const block = pack(question(name), reply)!
  return { question: question(name), variant: 0, block, reads, count, revision: undefined, upstream: undefined, since, until: since + 1000 }
}

interface Filled {
  readonly entries: Entries
  readonly evictions: { value: number }
  readonly marks: Marks
  /** Whether one is there. */
  readonly has: (name: string, now?: number) => boolean
  /** Asks for one. */
  readonly use: (name: string) => void
}

function filled(count: number, capacity: number, { times = 1, most = 4 * SEGMENT_OCTETS } = {}): Filled {
  const evictions = { value: 0 }
  const marks = new Marks()
  const entries = new Entries(capacity, most, marks)
  entries.bound(capacity, evictions, 0)
  for (let i = 0; i < count; i++) entries.put(entry(`${i}`, { reads: [i % 7], text: 'x'.repeat(200), times }))
  const place = (name: string, now = 0): number => entries.find(question(name), 0, now)
  return {
    entries,
    evictions,
    marks,
    has: (name, now) => place(name, now) !== 0,
    use: (name) => void entries.use(place(name), question(name), 0, false)
  }
}

/** The text of the entry at a place. */
function textAt(entries: Entries, place: number, now = 0): unknown {
  const [text] = entries.use(place, question('x'), now, false).answer[0]!.rdata as readonly Uint8Array[]
  return Buffer.from(text!).toString()
}

describe('entries', () => {
  test('are bounded in number', () => {
    const { entries, evictions } = filled(1000, 100)
    expect([entries.size, evictions.value]).toEqual([100, 900])
  })

  test('are none where none may be', () => {
    const { entries, evictions } = filled(10, 0)
    expect([entries.size, evictions.value, entries.octets]).toEqual([0, 0, 0])
  })

  test('may be any number, of which no more are kept than there is room for', () => {
    const { entries, has } = filled(3, 0x7fffffff, { most: 2 ** 45 })
    expect([entries.size, has('2')]).toEqual([3, true])
  })

  test('are bounded otherwise when that changes, and what has to go goes', () => {
    const { entries, evictions, has } = filled(100, 100)
    entries.bound(10, evictions, 0)
    expect([entries.size, evictions.value, has('99')]).toEqual([10, 90, true])
    entries.bound(20, evictions, 0)
    for (let i = 0; i < 100; i++) entries.put(entry(`${i}`))
    expect([entries.size, has('99'), has('80'), has('79')]).toEqual([20, true, true, false])
  })

  test('are bounded in memory, and then those that are asked for stay', () => {
    const { entries, evictions, use, has } = filled(10, 100_000, { times: 80 })
    for (let i = 10; i < 1000; i++) {
      entries.put(entry(`${i}`, { text: 'x'.repeat(200), times: 80 }))
      use('3')
    }
    expect(entries.octets).toBeLessThanOrEqual(4 * SEGMENT_OCTETS)
    expect(entries.size).toBeGreaterThan(20)
    expect(evictions.value).toBe(1000 - entries.size)
    expect([has('3'), has('2'), has('999')]).toEqual([true, false, true])
  })

  test('use the room of those that are gone, however often one comes anew', () => {
    const { entries } = filled(0, 100, { most: 64 * SEGMENT_OCTETS })
    for (let i = 0; i < 20_000; i++) entries.put(entry(`${i % 4}`, { text: `${i}` }))
    expect(entries.octets).toBeLessThanOrEqual(3 * SEGMENT_OCTETS)
    expect([0, 1, 2, 3].map((name) => textAt(entries, entries.find(question(`${name}`), 0, 0)))).toEqual([
      '19996',
      '19997',
      '19998',
      '19999'
    ])
  })

  test('that are larger than a segment are not kept', () => {
    const { entries } = filled(3, 100)
    const big = { ...entry('big'), block: new Uint8Array(SEGMENT_OCTETS) }
    expect(entries.put(big)).toBe(0)
    expect([entries.size, entries.find(question('big'), 0, 0)]).toEqual([3, 0])
  })

  test('stay where they are used, and go where they have ended or were not', () => {
    const { entries, use, has } = filled(3, 3)
    use('0')
    entries.put(entry('3'))
    expect(['0', '1', '2', '3'].map((name) => has(name))).toEqual([true, false, true, true])
    use('2')
    entries.put(entry('4', { since: 2000 }))
    expect(has('2', 0)).toBe(false)
  })

  test('that are all used make room all the same', () => {
    const { entries, use, has } = filled(3, 3)
    for (const name of ['0', '1', '2']) use(name)
    entries.put(entry('3'))
    expect([entries.size, has('3')]).toEqual([3, true])
  })

  test('that have ended are not found, and gone', () => {
    const { entries, has } = filled(3, 3)
    expect([has('0', 999), has('0', 1000), entries.size]).toEqual([true, false, 2])
  })

  test('are not found any more when something that they have read was changed', () => {
    const { entries, marks, has } = filled(21, 100)
    marks.add([3, 5, 99])
    expect(Array.from({ length: 8 }, (_, i) => has(`${i}`))).toEqual([true, true, true, false, true, false, true, true])
    expect(entries.size).toBe(19)
    entries.put(entry('3', { reads: [3], count: marks.count }))
    expect(has('3')).toBe(true)
    entries.clear()
    expect([entries.size, entries.octets, has('4')]).toEqual([0, 0, false])
  })

  test('are told apart by type, class and variant, and found however they are spelled', () => {
    const { entries } = filled(0, 10)
    entries.put(entry('www'))
    const found = (name: string, qtype = 16, qclass = 1, variant = 0): boolean =>
      entries.find(Question.of(name, qtype, qclass), variant, 0) !== 0
    expect([
      found('www.example.org.'),
      found('WWW.Example.ORG.'),
      found('ww.example.org.'),
      found('www.example.org.', 1),
      found('www.example.org.', 16, 3),
      found('www.example.org.', 16, 1, 1)
    ]).toEqual([true, true, false, false, false, false])
  })

  test('tell where they come from', () => {
    const { entries } = filled(0, 10)
    const place = entries.put({ ...entry('a', { reads: [-5, 7], since: 3 }), revision: 12, upstream: '127.0.0.1:53' })
    expect(entries.originOf(place)).toEqual({ kind: 'cache', since: 3, reads: [0xfffffffb, 7], revision: 12, upstream: '127.0.0.1:53' })
    expect(entries.originOf(entries.put(entry('b')))).toEqual({ kind: 'cache', since: 0, reads: [] })
  })
})

test('whatever is put, asked for, changed and deleted, what is found is what was put last', () => {
  const names = fc.integer({ min: 0, max: 15 }).map(String)
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ act: fc.constant('put'), name: names, times: fc.integer({ min: 1, max: 250 }) }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constant('find'), name: names }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('delete'), name: names }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('change'), name: names }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('wait'), ms: fc.integer({ min: 1, max: 400 }) }) }
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 200 }), (capacity, steps) => {
      const marks = new Marks()
      const entries = new Entries(capacity, 2 * SEGMENT_OCTETS, marks)
      const known = new Map<string, { text: string; until: number }>()
      let now = 0
      for (const [index, done] of steps.entries()) {
        const name = 'name' in done ? done.name : ''
        if (done.act === 'wait') now += 'ms' in done ? done.ms : 0
        else if (done.act === 'delete') {
          entries.delete(question(name), 0)
          known.delete(name)
        } else if (done.act === 'change') {
          marks.add([Number(name)])
          known.delete(name)
        } else if (done.act === 'put' && 'times' in done) {
          const text = `${index} `.padEnd(200, 'y')
          const isKept = entries.put(entry(name, { reads: [Number(name)], text, times: done.times, since: now, count: marks.count })) !== 0
          expect(isKept).toBe(true)
          known.set(name, { text, until: now + 1000 })
          expect(textAt(entries, entries.find(question(name), 0, now), now)).toBe(text)
        } else {
          const place = entries.find(question(name), 0, now)
          if (place !== 0)
            expect({ text: textAt(entries, place, now), isOver: known.get(name)!.until <= now }).toEqual({
              text: known.get(name)!.text,
              isOver: false
            })
        }
        expect(entries.size).toBeLessThanOrEqual(capacity)
        expect(entries.octets).toBeLessThanOrEqual(2 * SEGMENT_OCTETS)
      }
      const found = [...Array(16).keys()].filter((name) => entries.find(question(`${name}`), 0, now) !== 0)
      expect(found.length).toBe(entries.size)
    }),
    { numRuns: 300 }
  )
})
