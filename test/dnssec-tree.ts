/** A store with a bit of everything, for a zone that is signed. */
import type { Labels } from './dnssec-wire.js'

/** The zone under test. */
export const ZONE: Labels = ['skydns', 'test']

/** A service below the zone. */
export interface TreeService {
  /** Its labels, the zone's left out, leftmost first. */
  readonly at: Labels
  readonly service: object
  /** Seconds, of a key with a lease. */
  readonly ttl?: number
}

const LONG = 'l'.repeat(63)
const CHAIN = 10

/** What stands in the store. */
export const tree: readonly TreeService[] = [
  { at: ['ns1', 'ns', 'dns'], service: { host: '127.0.0.1' } },
  { at: ['ns2', 'ns', 'dns'], service: { host: '::1' } },
  { at: ['ns1', 'ns', 'dns', 'sub'], service: { host: '127.0.0.1' } },
  { at: ['www', 'sub'], service: { host: '10.0.12.1', port: 80 } },
  { at: ['up', 'sub'], service: { host: 'addr4.skydns.test' } },
  { at: ['down'], service: { host: 'www.sub.skydns.test' } },
  { at: ['addr4'], service: { host: '10.0.0.1', port: 80 } },
  { at: ['addr6'], service: { host: '2001:db8::1', port: 80 } },
  { at: ['1', 'a', 'pool'], service: { host: '10.0.1.1', port: 8080 } },
  { at: ['2', 'a', 'pool'], service: { host: '10.0.1.2', port: 8080, weight: 300 } },
  { at: ['1', 'b', 'pool'], service: { host: '2001:db8::2', port: 8080, priority: 20 } },
  { at: ['2', 'b', 'pool'], service: { host: '10.0.1.3', ttl: 7 } },
  { at: ['3', 'b', 'pool'], service: { host: '10.0.1.4', ttl: 0 } },
  { at: ['1', 'mail'], service: { host: 'mx1.skydns.test', mail: true, priority: 10 } },
  { at: ['2', 'mail'], service: { host: 'host.outside.test', mail: true, priority: 20 } },
  { at: ['3', 'mail'], service: { host: '10.0.3.9', mail: true, priority: 30 } },
  { at: ['mx1'], service: { host: '10.0.3.1' } },
  { at: ['1', 'text'], service: { text: 'hello world' } },
  { at: ['2', 'text'], service: { text: 'x'.repeat(700) } },
  { at: ['huge', 'text'], service: { text: 'y'.repeat(4000) } },
  { at: ['1', 'srv'], service: { host: 'addr4.skydns.test', port: 1 } },
  { at: ['2', 'srv'], service: { host: 'host.outside.test', port: 2 } },
  { at: ['3', 'srv'], service: { host: 'nothere.skydns.test', port: 3 } },
  { at: ['4', 'srv'], service: { host: 'nothing.outside.test', port: 4 } },
  { at: ['inside'], service: { host: 'addr4.skydns.test' } },
  { at: ['to-pool'], service: { host: 'pool.skydns.test' } },
  { at: ['deeper', 'inside'], service: { host: '10.0.4.1' } },
  { at: ['chain1'], service: { host: 'chain2.skydns.test' } },
  { at: ['chain2'], service: { host: 'chain3.skydns.test' } },
  { at: ['chain3'], service: { host: 'addr6.skydns.test' } },
  { at: ['out'], service: { host: 'host.outside.test' } },
  { at: ['out-v4'], service: { host: 'v4.outside.test' } },
  { at: ['out-alias'], service: { host: 'alias.outside.test' } },
  { at: ['out-nothing'], service: { host: 'nothing.outside.test' } },
  { at: ['into-cut'], service: { host: 'www.cut.skydns.test' } },
  { at: ['dangling'], service: { host: 'nothere.skydns.test' } },
  { at: ['to-empty'], service: { host: 'y.z.ent.skydns.test' } },
  { at: ['to-star'], service: { host: '*.pool.skydns.test' } },
  { at: ['self'], service: { host: 'self.skydns.test' } },
  { at: ['loop1'], service: { host: 'loop2.skydns.test' } },
  { at: ['loop2'], service: { host: 'loop1.skydns.test' } },
  ...Array.from({ length: CHAIN }, (_, i) => ({
    at: [`c${i}`],
    service: { host: i + 1 < CHAIN ? `c${i + 1}.skydns.test` : 'addr4.skydns.test' }
  })),
  { at: ['1', 'several'], service: { host: 'addr4.skydns.test' } },
  { at: ['2', 'several'], service: { host: 'addr6.skydns.test' } },
  { at: ['3', 'several'], service: { host: 'host.outside.test' } },
  { at: ['x', 'y', 'z', 'ent'], service: { host: '10.0.5.1' } },
  { at: ['deep', 'x', 'other', 'ent'], service: { text: 'alone' } },
  { at: ['_http', '_tcp', 'web'], service: { host: '10.0.5.2', port: 80 } },
  { at: ['1', 'bar'], service: { host: '10.0.5.3', port: 53, targetstrip: 1 } },
  { at: ['1', 'red', 'shop'], service: { host: '10.0.6.1', group: 'red' } },
  { at: ['1', 'blue', 'red', 'shop'], service: { host: '10.0.6.2', group: 'blue' } },
  { at: ['lease', 'leases'], service: { host: '10.0.7.1', text: 'for a while' }, ttl: 3_000 },
  { at: ['other', 'leases'], service: { host: '2001:db8::7' }, ttl: 2_000 },
  { at: ['sp ace', 'odd'], service: { host: '10.0.8.1' } },
  { at: ['dot.in', 'odd'], service: { host: '10.0.8.2' } },
  { at: ['\x00zero', 'odd'], service: { host: '10.0.8.3' } },
  { at: ['\xff\xfehigh', 'odd'], service: { host: '10.0.8.4' } },
  { at: ['quo"te\\', 'odd'], service: { host: '10.0.8.5' } },
  { at: ['a*b', 'odd'], service: { host: '10.0.8.6' } },
  { at: ['MiXed', 'odd'], service: { host: '10.0.8.7' } },
  { at: ['under', '\x00', 'odd'], service: { host: '10.0.8.8' } },
  { at: ['*', 'star'], service: { host: '10.0.9.1' } },
  { at: ['x', '*', 'star'], service: { host: '10.0.9.2' } },
  { at: ['beside', 'star'], service: { host: '10.0.9.3' } },
  { at: [LONG, LONG, 'l'.repeat(40), 'long'], service: { host: '10.0.10.1' } },
  // 255 octets, and 253: no name fits right behind them.
  { at: [LONG, LONG, LONG, 'm'.repeat(49)], service: { host: '10.0.10.2' } },
  { at: [LONG, LONG, LONG, 'n'.repeat(47)], service: { host: '10.0.10.3' } },
  { at: Array.from({ length: 20 }, (_, i) => 'abcdefghij'[i % 10]!), service: { host: '10.0.11.1' } },
  ...Array.from({ length: 60 }, (_, i) => ({
    at: [`h${i % 6}`, `r${Math.floor(i / 6) % 5}`, i % 2 === 0 ? 'east' : 'west'],
    service: { host: i % 3 === 0 ? `2001:db8:1::${i}` : `10.1.0.${i}`, port: 1000 + i, ...(i % 4 === 0 && { text: `number ${i}` }) }
  }))
]

/** The tree as lines for `skein kv import`. */
export function treeLines(): string {
  return tree
    .map(({ at, service, ttl }) => {
      const segments = ['skydns', ...[...at, ...ZONE].reverse()].map((label) => Buffer.from(label, 'latin1').toString('base64'))
      return `${JSON.stringify({ segments64: segments, value: JSON.stringify(service), ...(ttl !== undefined && { ttl }) })}\n`
    })
    .join('')
}

/** All names that the tree makes exist, those without records of their own too. */
export function treeNames(): Labels[] {
  const names = new Map<string, Labels>()
  for (const { at } of [...tree, { at: ['cut'] }]) {
    for (let from = 0; from <= at.length; from++) {
      const labels = [...at.slice(from), ...ZONE]
      names.set(labels.join('\n').toLowerCase(), labels)
    }
  }
  return [...names.values()]
}
