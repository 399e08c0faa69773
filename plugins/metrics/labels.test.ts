import { requestOctets, serverOf, type TestServer } from 'skein/testing'
import { afterEach, expect, test } from 'vitest'
import { FAMILIES, PROTOCOLS, TYPES } from './zone-traffic.js'

let server: TestServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

const QUERIES = 20_000
/** All that counts, with zones of their own; nobody is asked outside. */
const corefile = `example.org a.example.org 192.0.2.0/23 {
  prometheus 127.0.0.1:0
  whoami
}
. {
  prometheus 127.0.0.1:0
  errors
  any
  chaos
  cache
  loadbalance
  stub skydns.local {
    store
    zone stub.example 192.0.2.1
  }
  etcd skydns.local {
    store
    api off
  }
  forward . 192.0.2.1 {
    no_rec
  }
}`

/** Numbers that look random, the same in each run. */
function numbers(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

/** Each label of each number, without those of buckets: `name{label}` and its values. */
function labelsOf(text: string): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>()
  for (const [, name = '', list = ''] of text.matchAll(/^(coredns_\w+|skein_\w+)\{(.*)\} \S+$/gm)) {
    for (const [, label = '', value = ''] of list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      if (label === 'le' || name === 'coredns_build_info') continue
      labels.set(label, (labels.get(label) ?? new Set()).add(value))
    }
  }
  return labels
}

test(`after ${QUERIES} queries of any type, class, name and client the labels are those of the configuration and of fixed lists`, async () => {
  const below = numbers(7)
  const one = <T>(list: readonly T[]): T => list[below(list.length)]!
  const zones = ['', 'example.org.', 'a.example.org.', '2.0.192.in-addr.arpa.', 'skydns.local.', 'stub.dns.skydns.local.', 'stub.example.']
  server = await serverOf(corefile, { services: { '/skydns/local/skydns/a': { host: '192.0.2.9' } } })
  let replies = 0
  for (let i = 0; i < QUERIES; i++) {
    const labels = Array.from({ length: below(4) }, () => `\\${String(below(256)).padStart(3, '0')}${below(1e6).toString(36)}`)
    const name = `${[...labels, one(zones)].join('.')}`.replace(/\.?$/, '.')
    const klass = one(['IN', 'IN', 'IN', 'CH', `CLASS${below(65_536)}`])
    const options = { rd: below(2) === 0, flags: one([0, 0x10, 0x20, 0x30]), id: below(65_536), dnssecOk: below(2) === 0 }
    const type = name.includes('stub') ? 'AXFR' : below(4) === 0 ? one(TYPES.slice(0, -1)) : `TYPE${below(65_536)}`
    const client = {
      address: one([`10.${below(256)}.${below(256)}.${below(256)}`, `2001:db8::${below(65_536).toString(16)}`]),
      port: below(65_536),
      transport: one(['udp', 'tcp', 'tls', 'https', 'quic'] as const),
      local: one(['127.0.0.1', '::1']),
      endpoint: one(['127.0.0.1:53', '[::1]:53'])
    }
    if ((await server.exchange(requestOctets(`${name} ${type} ${klass}`, options), client)) !== undefined) replies++
  }
  expect(replies).toBe(QUERIES)
  const end = /http:\S+/.exec(server.log.lines.join('\n'))![0]
  const text = await (await fetch(end, { headers: { connection: 'close' } })).text()
  const labels = labelsOf(text)
  expect([...labels.keys()].toSorted()).toEqual(['family', 'name', 'plugin', 'proto', 'rcode', 'server', 'type', 'view', 'zone', 'zones'])
  const allowed: Readonly<Record<string, readonly string[]>> = {
    type: [...TYPES, 'success', 'denial'],
    zones: ['.'],
    proto: PROTOCOLS,
    family: FAMILIES,
    rcode: ['NOERROR', 'NXDOMAIN', 'REFUSED', 'SERVFAIL'],
    zone: ['.', 'example.org.', 'a.example.org.', '2.0.192.in-addr.arpa.', '3.0.192.in-addr.arpa.'],
    view: [''],
    plugin: [''],
    name: ['prometheus', 'errors', 'log', 'any', 'loadbalance', 'cache', 'stub', 'chaos', 'etcd', 'forward', 'whoami'],
    server: ['dns', 'tls', 'https', 'quic'].flatMap((scheme) => [`${scheme}://127.0.0.1:53`, `${scheme}://[::1]:53`, `${scheme}://:53`])
  }
  for (const [label, values] of labels)
    expect({ label, others: [...values].filter((value) => !allowed[label]!.includes(value)) }).toEqual({ label, others: [] })
  expect(labels.get('type')).toEqual(new Set([...TYPES, 'success', 'denial']))
  const counted = [...text.matchAll(/^coredns_dns_requests_total\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
  expect(counted).toBe(QUERIES)
})
