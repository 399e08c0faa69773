import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ListenerCounters } from '../slot.js'
import { EAGAIN, EINTR, ENOBUFS, ENOMEM } from './layout.js'
import type { Libc } from './libc.js'
import { OutgoingBuffers, SendQueue } from './outgoing.js'

const EPERM = 1
const EMSGSIZE = 90
const ECONNREFUSED = 111
const MOST = 512

/** A kernel that takes so many datagrams a call, or fails with an errno; when it has nothing more to say it takes all. */
class Kernel {
  readonly taken: string[] = []
  /** `take 3`, or an errno. */
  readonly answers: (['take', number] | ['fail', number])[] = []
  /** Datagrams that it never takes. */
  readonly refused = new Set<string>()
  readonly #memory: { at: bigint; octets: Buffer }[] = []
  #next = 4096n
  #errno = 0

  get libc(): Libc {
    const known: Pick<Libc, 'sendmmsg' | 'errno' | 'addressOf'> = {
      errno: () => this.#errno,
      addressOf: (view) => {
        const at = this.#next
        this.#memory.push({ at, octets: Buffer.from(view.buffer, view.byteOffset, view.byteLength) })
        // As far as memory of processes lies: more than 32 bits.
        this.#next += 0x1_0000_1000n
        return at
      },
      sendmmsg: (_fd, headers, count) => this.#send(headers, count)
    }
    return known as Libc
  }

  #send(headers: bigint, count: number): number {
    const [kind, value] = this.answers.shift() ?? ['take', count]
    if (kind === 'fail') return this.#fail(value)
    for (let i = 0; i < Math.min(count, value); i++) {
      const text = this.#datagram(headers + BigInt(i * 64))
      if (this.refused.has(text)) return i === 0 ? this.#fail(EPERM) : i
      this.taken.push(text)
    }
    return Math.min(count, value)
  }

  #fail(errno: number): number {
    this.#errno = errno
    return -1
  }

  /** The datagram of a struct mmsghdr as text: `octets > sockaddr`. */
  #datagram(header: bigint): string {
    const name = this.#read(this.#pointer(header), this.#u32(header + 8n))
    const vector = this.#pointer(header + 16n)
    expect(this.#u32(header + 24n)).toBe(1)
    return `${this.#read(this.#pointer(vector), this.#u32(vector + 8n)).toString('latin1')}>${name.toString('hex')}`
  }

  #pointer(at: bigint): bigint {
    return this.#read(at, 8).readBigUInt64LE()
  }

  #u32(at: bigint): number {
    return this.#read(at, 4).readUInt32LE()
  }

  #read(at: bigint, length: number): Buffer {
    const piece = this.#memory.find((each) => at >= each.at && at + BigInt(length) <= each.at + BigInt(each.octets.length))
    if (piece === undefined) throw new Error(`nobody's memory: ${at}`)
    const from = Number(at - piece.at)
    return piece.octets.subarray(from, from + length)
  }
}

const V4 = Buffer.from(`0200003510000001${'00'.repeat(8)}`, 'hex')
const V6 = Buffer.from(`0a000035${'00'.repeat(4)}${'fd'.repeat(16)}01000000`, 'hex')

function setUp() {
  const kernel = new Kernel()
  const counters: ListenerCounters = { received: 0, unsent: 0, refusedConnections: 0 }
  const pool = new OutgoingBuffers(kernel.libc)
  const queue = new SendQueue(kernel.libc, 3, pool, counters)
  const add = (text: string, name = V4, at = 0): void => {
    const buffer = pool.take(text.length)
    buffer.octets.write(text, 'latin1')
    queue.add(buffer, text.length, name, at)
  }
  /** What the kernel took, without addresses. */
  const taken = (): string[] => kernel.taken.map((text) => text.split('>')[0]!)
  return { kernel, counters, pool, queue, add, taken }
}

test('a reply goes to its asker, over IPv4 and IPv6, wherever the sockaddr lies', () => {
  const { kernel, queue, add } = setUp()
  add('four')
  add('six', Buffer.concat([Buffer.alloc(5), V6]), 5)
  add('long'.repeat(3000))
  expect(queue.flush()).toBe(true)
  expect(kernel.taken).toEqual([`four>${V4.toString('hex')}`, `six>${V6.toString('hex')}`, `${'long'.repeat(3000)}>${V4.toString('hex')}`])
})

describe('nothing is lost or sent twice', () => {
  test.each<[string, (['take', number] | ['fail', number])[], boolean]>([
    [
      'where the kernel takes some',
      [
        ['take', 2],
        ['take', 1]
      ],
      true
    ],
    ['where a signal comes between', [['fail', EINTR]], true],
    ['where it tells of an earlier reply', [['fail', ECONNREFUSED]], true],
    [
      'where it tells of earlier ones each time',
      [
        ['take', 1],
        ['fail', ECONNREFUSED],
        ['take', 1],
        ['fail', ECONNREFUSED]
      ],
      true
    ],
    ['where it has no room', [['fail', EAGAIN]], false],
    [
      'where it has no room after some',
      [
        ['take', 3],
        ['fail', EAGAIN]
      ],
      false
    ],
    [
      'where the device has no room',
      [
        ['take', 1],
        ['fail', ENOBUFS]
      ],
      false
    ],
    ['where there is no memory', [['fail', ENOMEM]], false]
  ])('%s', (_, answers, isAllSent) => {
    const { kernel, counters, queue, add, taken } = setUp()
    kernel.answers.push(...answers)
    const texts = ['a', 'b', 'c', 'd', 'e']
    for (const text of texts) add(text)
    expect(queue.flush()).toBe(isAllSent)
    expect(queue.length).toBe(texts.length - taken().length)
    expect(queue.flush()).toBe(true)
    expect([taken(), queue.length, counters.unsent]).toEqual([texts, 0, 0])
  })

  test('whatever the kernel does, in whatever order', () => {
    const answer = fc.oneof(
      fc.tuple(fc.constant('take' as const), fc.integer({ min: 1, max: 700 })),
      fc.tuple(fc.constant('fail' as const), fc.constantFrom(EAGAIN, ENOBUFS, EINTR))
    )
    const step = fc.record({ adds: fc.integer({ min: 0, max: 300 }), answers: fc.array(answer, { maxLength: 4 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const { kernel, counters, queue, add, taken } = setUp()
        let added = 0
        for (const { adds, answers } of steps) {
          for (let i = 0; i < adds; i++) add(String(added++))
          kernel.answers.push(...answers)
          queue.flush()
        }
        kernel.answers.length = 0
        expect(queue.flush()).toBe(true)
        expect(taken().length + counters.unsent).toBe(added)
        expect(taken().map(Number)).toEqual([...new Set(taken().map(Number))].sort((a, b) => a - b))
      }),
      { numRuns: 15 }
    )
  })
})

test('a reply that cannot be sent is counted, and those behind it go', () => {
  const { kernel, counters, queue, add, taken } = setUp()
  for (const text of ['a', 'forbidden', 'b', 'c']) add(text)
  kernel.refused.add(`forbidden>${V4.toString('hex')}`)
  expect(queue.flush()).toBe(true)
  expect([taken(), counters.unsent]).toEqual([['a', 'b', 'c'], 1])
})

test.each([
  ['too large', EMSGSIZE],
  ['no permission', EPERM]
])('an error that stays is not tried for ever: %s', (_, errno) => {
  const { kernel, counters, queue, add } = setUp()
  for (let i = 0; i < 3; i++) add(String(i))
  for (let i = 0; i < 6; i++) kernel.answers.push(['fail', errno])
  expect(queue.flush()).toBe(true)
  expect([queue.length, counters.unsent, kernel.taken]).toEqual([0, 3, []])
})

test(`${MOST} wait for a kernel without room; more are given up and counted`, () => {
  const { kernel, counters, queue, add, taken } = setUp()
  // So that the ring begins in its middle.
  for (let i = 0; i < 100; i++) add('before')
  kernel.answers.push(['take', 99], ['fail', EAGAIN])
  expect(queue.flush()).toBe(false)
  for (let i = 0; i < MOST + 9; i++) add(String(i))
  expect([queue.length, counters.unsent]).toEqual([MOST, 10])
  expect(queue.flush()).toBe(true)
  expect(taken().slice(100)).toEqual(Array.from({ length: MOST - 1 }, (_, i) => String(i)))
})

test('what is given up at the end is counted, and buffers are used again', () => {
  const { counters, pool, queue, add } = setUp()
  const first = pool.take(10)
  pool.giveBack(first)
  expect(pool.take(4096)).toBe(first)
  pool.giveBack(first)
  add('one')
  add('two')
  queue.clear()
  expect([queue.length, counters.unsent]).toEqual([0, 2])
  expect([pool.take(1), pool.take(1)]).toContain(first)
})
