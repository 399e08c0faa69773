import {
  isWithin,
  type KnownName,
  namesKnown,
  type Reading,
  type ReplyParts,
  type ResourceRecord,
  type RRType,
  type Store
} from 'skein/plugin'
import { MemoryStore, serverOf, TestClock } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { answerParts, type Rules } from './answer.js'
import { askedOf, type Standing } from './asked.js'
import { Lookup } from './lookup.js'
import { KnownNames, MOST_READ } from './names.js'
import { Outside, type OutsideAnswer } from './outside.js'
import { SoaRecords } from './soa.js'
import { apexOf } from './zone.js'

type Services = Readonly<Record<string, unknown>>

/** The key of a name below `z.`: `a.b` is `/skydns/z/b/a`. */
const pathOf = (name: string): string => ['/skydns/z', ...name.split('.').reverse()].join('/')
const storeOf = (services: Services): MemoryStore =>
  MemoryStore.of(Object.fromEntries(Object.entries(services).map(([name, value]) => [pathOf(name), value])))

interface Counted {
  readonly names: KnownNames
  /** How often the store was read at or below a key. */
  readonly looks: () => number
}

function namesIn(store: MemoryStore, standing: Partial<Standing> = {}, clock = new TestClock()): Counted {
  let looks = 0
  const reading = (): ReturnType<Store['read']> => {
    const reads: number[] = []
    return {
      reads,
      revision: store.revision,
      subtree: (key, limit) => {
        looks++
        reads.push(key.length)
        return store.subtree(key, limit)
      },
      at: (key) => store.at(key),
      has: (key) => store.has(key)
    }
  }
  const options = { zones: ['z.'], fallthrough: undefined, path: ['skydns'], local: undefined, apexAlone: false, ...standing }
  return { names: new KnownNames(options, () => ({ read: reading, feed: store.feed }), { clock }), looks: () => looks }
}

const text = ({ types }: KnownName): string => (types === undefined ? 'nothing' : types.toSorted().join(' '))

const SERVICES = {
  'ns1.ns.dns': { host: '192.0.2.53' },
  v4: { host: '192.0.2.1' },
  v6: { host: '2001:db8::1' },
  'x.both': { host: '192.0.2.1' },
  'y.both': { host: '2001:db8::1' },
  alias: { host: 'v4.z' },
  'x.same': { host: 'v4.z' },
  'y.same': { host: 'V4.z.' },
  'x.mixed': { host: 'v4.z' },
  'y.mixed': { host: 'v6.z' },
  self: { host: 'self.z' },
  one: { host: 'two.z' },
  two: { host: 'one.z', text: 'here' },
  enter: { host: 'one.z' },
  far: { host: 'nowhere.example', text: 'also this' },
  mail: { host: '192.0.2.1', mail: true },
  'mail.alone': { mail: true },
  words: { text: 'hello' },
  'a.b.deep': { text: '' },
  broken: 'no JSON',
  'x.grouped': { host: '192.0.2.1', group: 'g' },
  'y.x.grouped': { host: '::1', text: 'other', group: 'h' },
  'w.p.pat': { host: '192.0.2.1' },
  'w.q.pat': { host: '::1' }
}

describe('the types at a name are those that questions get', () => {
  const { names } = namesIn(storeOf(SERVICES), { local: 'v4.z.' })
  test.each([
    ['v4.z.', 'A SRV'],
    ['v6.z.', 'AAAA SRV'],
    ['both.z.', 'A AAAA SRV'],
    ['alias.z.', 'CNAME SRV'],
    ['same.z.', 'CNAME SRV'],
    ['mixed.z.', 'A AAAA SRV'],
    ['self.z.', 'SRV'],
    ['one.z.', 'SRV'],
    ['two.z.', 'SRV TXT'],
    ['enter.z.', 'CNAME SRV'],
    ['far.z.', 'CNAME SRV TXT'],
    ['mail.z.', 'A MX SRV'],
    ['mail.alone.z.', ''],
    ['words.z.', 'TXT'],
    ['deep.z.', ''],
    ['b.deep.z.', ''],
    ['broken.z.', ''],
    ['below.broken.z.', 'nothing'],
    ['none.z.', 'nothing'],
    ['grouped.z.', 'A SRV'],
    ['w.*.pat.z.', 'A AAAA SRV'],
    ['w.any.pat.z.', 'A AAAA SRV'],
    ['w.p.*.z.', 'A SRV'],
    ['none.*.pat.z.', ''],
    ['none.*.none.z.', 'nothing'],
    ['*.z.', 'A AAAA MX SRV TXT'],
    ['local.dns.z.', 'A SRV'],
    ['dns.z.', 'A SRV']
  ])('%s: %s', (name, expected) => {
    expect(text(names.at(name))).toBe(expected)
  })
})

describe('the apex exists, whatever is stored', () => {
  test.each<[string, Services, Partial<Standing>, string]>([
    ['nothing', {}, {}, 'SOA'],
    ['a server', { 'ns1.ns.dns': { host: '192.0.2.53' } }, {}, 'A NS SOA SRV'],
    ['one that is none', { 'ns1.ns.dns': { host: 'ns.example' }, b: { host: '::1' } }, {}, 'A AAAA SOA SRV'],
    ['apex.dns alone', { 'apex.dns': { host: '::1' }, a: { host: '192.0.2.1', text: 't' } }, { apexAlone: true }, 'AAAA SOA SRV'],
    ['one name, for which no CNAME is told beside the SOA', { a: { host: 'b.example' } }, {}, 'A AAAA SOA SRV']
  ])('%s', (_, services, standing, expected) => {
    const known = namesIn(storeOf(services), standing).names.at('z.')
    expect(text(known)).toBe(expected)
    expect(known.reads).toEqual([])
  })
})

test('what is above local.dns exists with it', () => {
  const { names } = namesIn(storeOf({ v4: { host: '192.0.2.1' } }), { local: 'v4.z.' })
  expect(['local.dns.z.', 'dns.z.', 'x.dns.z.'].map((name) => text(names.at(name)))).toEqual(['A SRV', '', 'nothing'])
  const { names: without } = namesIn(storeOf({}), { local: 'v4.z.' })
  expect(['local.dns.z.', 'dns.z.'].map((name) => text(without.at(name)))).toEqual(['nothing', 'nothing'])
})

describe('of many keys', () => {
  const many = (count: number, value: unknown): MemoryStore =>
    storeOf(Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}.big`, value])))

  test.each([
    [MOST_READ, 'A SRV'],
    [MOST_READ + 1, 'A AAAA MX SRV TXT']
  ])('%i at a name are told as %s', (count, expected) => {
    const { names } = namesIn(many(count, { host: '192.0.2.1' }))
    expect(text(names.at('big.z.'))).toBe(expected)
  })

  test('of those that are not all read none makes a CNAME known', () => {
    expect(text(namesIn(many(MOST_READ + 1, { host: 'a.z' })).names.at('big.z.'))).toBe('A AAAA MX SRV TXT')
    expect(text(namesIn(many(MOST_READ, { host: 'a.z' })).names.at('big.z.'))).toBe('CNAME SRV')
  })
})

describe('a name is read once', () => {
  test('for as long as the store does not change', () => {
    const store = storeOf({ a: { host: '192.0.2.1' } })
    const { names, looks } = namesIn(store)
    expect(text(names.at('a.z.'))).toBe('A SRV')
    const once = looks()
    for (let i = 0; i < 10; i++) names.at('a.z.')
    expect(looks()).toBe(once)
    store.put(['skydns', 'z', 'a'], '{"host":"::1"}')
    expect(text(names.at('a.z.'))).toBe('AAAA SRV')
    store.delete(['skydns', 'z', 'a'])
    expect(text(names.at('a.z.'))).toBe('nothing')
  })

  test('and until a key of it ends', () => {
    const clock = new TestClock()
    const store = new (class extends MemoryStore {
      override subtree(key: readonly string[], limit?: number): ReturnType<MemoryStore['subtree']> {
        return super.subtree(key, limit).filter(({ expires = Number.POSITIVE_INFINITY }) => expires > clock.now())
      }
    })()
    store.put(['skydns', 'z', 'a'], '{"host":"192.0.2.1"}', clock.now() + 1000)
    const { names } = namesIn(store, {}, clock)
    clock.advance(999)
    expect(text(names.at('a.z.'))).toBe('A SRV')
    clock.advance(1)
    expect(text(names.at('a.z.'))).toBe('nothing')
  })

  test('also the apex while very many others are asked for', () => {
    const { names, looks } = namesIn(storeOf({ a: { host: '192.0.2.1' } }))
    names.at('z.')
    const once = looks()
    for (let i = 0; i < 5000; i++) {
      names.at(`x${i}.z.`)
      names.at('z.')
    }
    // One for each of the others, and no more.
    expect(looks() - once).toBe(5000)
  })
})

describe('those zones are offered for which nobody else is asked', () => {
  test.each<[string, string, readonly string[]]>([
    ['all', 'a.z b.z', ['a.z.', 'b.z.']],
    ['but for addresses', 'a.z in-addr.arpa', ['a.z.']],
    ['nor what is above such', 'a.z arpa in-addr.arpa', ['a.z.']],
    ['nor with fallthrough', 'a.z b.z {\n fallthrough a.z', ['b.z.']],
    ['nor above a fallthrough', 'z b.z {\n fallthrough a.z', ['b.z.']],
    ['nor below one', 'a.z b.y {\n fallthrough z', ['b.y.']],
    ['nor any where all names fall through', 'a.z {\n fallthrough', []]
  ])('%s', async (_, line, expected) => {
    const [zones, option = ''] = line.split(' {')
    const server = await serverOf(`. {\n etcd ${zones} {\n store${option}\n }\n}`)
    const offered = server.instance.blocks[0]!.scope.find(namesKnown)
    await server.stop()
    expect(offered.flatMap((names) => names.zones)).toEqual(expected)
  })
})

test('a zone within another one answers for its own names', () => {
  const options = { zones: ['z.', 'y.z.'], fallthrough: undefined, path: ['skydns'], local: undefined, apexAlone: false }
  const store = storeOf({ y: { host: '192.0.2.1' } })
  const source = { read: () => ({ ...readingOf(store), reads: [] }), feed: undefined }
  const names = new KnownNames(options, () => source, { clock: new TestClock() })
  expect(['y.z.', 'x.y.z.', 'z.'].map((name) => text(names.at(name)))).toEqual(['A SOA SRV', 'nothing', 'A SOA SRV'])
  expect(() => names.at('x.')).toThrow('x. is in none of the zones z., y.z.')
})

test('of a replica that has nothing yet nothing is told', async () => {
  const store = new MemoryStore()
  const server = await serverOf('. {\n etcd z {\n endpoint http://127.0.0.1:2379\n }\n}', { services: store })
  const [names] = server.instance.blocks[0]!.scope.find(namesKnown)
  store.feed = { state: 'waiting', endpoints: ['http://127.0.0.1:2379'] } as never
  expect(() => names!.at('z.')).toThrow('nothing was read of etcd yet')
  await server.stop()
})

/** What a name may be, for random ones. */
const LABELS = ['a', 'b', 'c', '*', 'any', 'dns', 'ns', 'local', 'apex']
const ADDRESSES = ['192.0.2.1', '192.0.2.2', '2001:db8::1']
const NAMES = ['z', 'a.z', 'b.z', 'c.z', 'b.a.z', 'local.dns.z', 'in.example', 'out.example', 'gone.example']
const TYPES: readonly RRType[] = ['A', 'AAAA', 'CNAME', 'SRV', 'MX', 'TXT', 'NS', 'SOA', 'LOC', 'DS', 'PTR']
const WORLD: Readonly<Record<string, OutsideAnswer>> = {
  'in.example. A': { kind: 'found', records: [{ owner: 'in.example.', type: 'A', ttl: 60, rdata: '192.0.2.9' }] },
  'in.example. AAAA': { kind: 'found', records: [] },
  'out.example. A': { kind: 'failed' },
  'out.example. AAAA': { kind: 'failed' },
  'gone.example. A': { kind: 'none' },
  'gone.example. AAAA': { kind: 'none' }
}

/** Random numbers that are the same each time. */
function randomOf(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 0x100000000) * limit)
  }
}

test('nothing is left out that a question would get, and what does not exist is NXDOMAIN: of random services', () => {
  const below = randomOf(20)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
  const nameOf = (): string => Array.from({ length: 1 + below(3) }, () => pick(LABELS)).join('.')
  // In some rounds one name is all that there is, so that the apex has a CNAME for others.
  let isLoose = true
  let only = ''
  const service = (): unknown => ({
    ...(below(6) > 0 && { host: isLoose ? pick(below(3) === 0 ? ADDRESSES : NAMES) : only }),
    ...(below(4) === 0 && { text: 't' }),
    ...(below(4) === 0 && { mail: true }),
    ...(below(6) === 0 && { group: pick(['g', 'h']) })
  })
  const wrong: string[] = []
  const seen = { answered: 0, denied: 0, missing: 0, aliases: 0, bare: 0 }
  for (let round = 0; round < 300; round++) {
    isLoose = round % 4 > 0
    only = pick(['in.example', 'a.z', 'local.dns.z'])
    const services = Object.fromEntries(Array.from({ length: 1 + below(8) }, () => [nameOf(), below(20) === 0 ? 'bad' : service()]))
    const store = storeOf(services)
    const standing = {
      zones: pick([['z.'], ['z.', 'a.z.']]),
      local: pick([undefined, 'a.z.', 'b.a.z.', 'z.']),
      apexAlone: below(4) === 0
    }
    const { names } = namesIn(store, standing)
    for (let i = 0; i < 12; i++) {
      const owner = i === 0 ? 'z.' : i === 1 ? 'local.dns.z.' : `${nameOf()}.z.`
      const { types } = names.at(owner)
      for (const type of TYPES) {
        for (const dnssecOk of [false, true]) {
          const { rcode = 'NOERROR', answer = [] } = answered(store, standing, owner, type, dnssecOk)
          if (rcode === 'SERVFAIL') continue
          if ((rcode === 'NXDOMAIN') !== (types === undefined) || contradicts(names, answer, owner, type, dnssecOk))
            wrong.push(
              `${owner} ${type} of ${JSON.stringify({ services, standing })}: ${types?.join()}, ${rcode} ${answer.map((record) => record.type).join()}`
            )
          if (answer[0]?.type === 'CNAME') seen.aliases++
          if (!dnssecOk && answer[0]?.type === 'CNAME' && !types?.includes('CNAME')) seen.bare++
          seen[rcode === 'NXDOMAIN' ? 'missing' : answer.length > 0 ? 'answered' : 'denied']++
        }
      }
    }
  }
  expect(wrong).toEqual([])
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50)
})

/**
 * Whether a client who wants proofs would be told of what is not to be there, or get none where a CNAME is told. Others may get a CNAME
 * where none is told.
 */
function contradicts(names: KnownNames, answer: readonly ResourceRecord[], owner: string, type: RRType, dnssecOk: boolean): boolean {
  const isKnown = (name: string, told: RRType): boolean => names.at(name).types?.includes(told) === true
  const isFrom = (record: ResourceRecord): boolean => isWithin(record.owner, 'z.')
  if (!dnssecOk) return answer.some((record) => record.type !== 'CNAME' && record.owner === owner && !isKnown(owner, record.type))
  // The SOA has its own name, whatever stands for it.
  if (answer.some((record) => isFrom(record) && !isKnown(record.owner, record.type))) return true
  const end = answer.findLast((record) => record.type === 'CNAME')?.rdata
  if (end === undefined) return answer.length === 0 && isKnown(owner, 'CNAME')
  // The CNAMEs of A are followed to their end in the zone, and at that is what a question for it gets.
  if (type !== 'A' || !isWithin(end as string, apexOf(names.zones, owner)!)) return false
  return isKnown(end as string, 'CNAME')
}

function answered(store: MemoryStore, standing: Standing, owner: string, type: RRType, dnssecOk: boolean): ReplyParts {
  const source = { path: ['skydns'], bad: () => {}, cut: () => {} }
  const apex = apexOf(standing.zones, owner)!
  const lookup = new Lookup(readingOf(store), source, apex, { ttl: 3600, now: 0, leaseTtl: () => 0 })
  const soa = new SoaRecords({ minTtl: 60, hostmaster: undefined })
  const rules: Rules = { ttl: 3600, priority: 10, soa, skipped: () => {}, ...standing }
  const asked = askedOf(standing, apex, { owner, type, now: 0, dnssecOk })
  return answerParts(lookup, new Outside(new Map(Object.entries(WORLD))), rules, asked)
}

function readingOf(store: MemoryStore): Reading {
  return {
    reads: [],
    revision: store.revision,
    subtree: (key, limit) => store.subtree(key, limit),
    at: (key) => store.at(key),
    has: (key) => store.has(key)
  }
}
