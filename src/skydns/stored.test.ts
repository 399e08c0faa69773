import { describe, expect, test } from 'vitest'
import { readStored } from './stored.js'

function read(text: string): unknown {
  const stored = readStored(text, '/skydns/config')
  if (typeof stored === 'string') return stored
  return {
    ...Object.fromEntries([...stored.said].map(([name, { value }]) => [name, value])),
    ...(stored.notes.length > 0 && { notes: stored.notes })
  }
}

test('all keys of SkyDNS are read', () => {
  const object = {
    dns_addr: '127.0.0.1:5354',
    domain: 'a.test',
    dnssec: 'Ka.test. 013 1',
    hostmaster: 'a@b',
    local: 'l.a.test',
    round_robin: false,
    ns_rotate: false,
    nameservers: ['192.0.2.1:53', '192.0.2.2:53'],
    no_rec: true,
    read_timeout: 1_500_000_000,
    priority: 20,
    ttl: 30,
    min_ttl: 40,
    scache: 1,
    rcache: 2,
    rcache_ttl: 3,
    ndot: 4,
    systemd: true
  }
  expect(read(JSON.stringify(object))).toEqual({
    addr: '127.0.0.1:5354',
    domain: 'a.test',
    dnssec: 'Ka.test. 013 1',
    hostmaster: 'a@b',
    local: 'l.a.test',
    roundRobin: false,
    nsRotate: false,
    nameservers: ['192.0.2.1:53', '192.0.2.2:53'],
    noRec: true,
    readTimeout: 1500,
    priority: 20,
    ttl: 30,
    minTtl: 40,
    scache: 1,
    rcache: 2,
    rcacheTtl: 3,
    ndots: 4,
    systemd: true
  })
})

describe('an object is read as Go reads it', () => {
  test.each<[string, unknown]>([
    ['{}', {}],
    ['null', {}],
    ['{"Domain":"a.test","TTL":5}', { domain: 'a.test', ttl: 5 }],
    ['{"domain":null,"nameservers":null,"other":null}', { nameservers: [] }],
    ['{"ttl":1,"ttl":2}', { ttl: 2 }],
    ['{"read_timeout":"2s"}', { readTimeout: 2000 }],
    ['{"read_timeout":0}', { readTimeout: 0 }],
    ['{"ndots":3}', { ndots: 3 }],
    ['{"ndots":3,"ndot":4}', { ndots: 4, notes: ['/skydns/config: ndots has no effect beside ndot'] }],
    ['{"ndot":4,"ndots":3}', { ndots: 4, notes: ['/skydns/config: ndots has no effect beside ndot'] }],
    ['{"etcd3":true}', { notes: ['/skydns/config: etcd3 has no effect: how etcd is read is decided before it is: by -etcd3'] }],
    [
      '{"nameserver":["192.0.2.1:53"]}',
      { notes: ['/skydns/config: nameserver has no effect: SkyDNS has no such key, did you mean nameservers?'] }
    ],
    ['{"__proto__":{"ttl":5}}', { notes: ['/skydns/config: __proto__ has no effect: SkyDNS has no such key'] }],
    ['{"verbose":true}', { notes: ['/skydns/config: verbose has no effect: SkyDNS has no such key, only the flag -verbose'] }],
    ['{"path_prefix":"a"}', { notes: ['/skydns/config: path_prefix has no effect: SkyDNS has no such key, only the flag -path-prefix'] }],
    ['{"addr":":53"}', { notes: ['/skydns/config: addr has no effect: SkyDNS has no such key, did you mean dns_addr?'] }],
    ['{"colour":1}', { notes: ['/skydns/config: colour has no effect: SkyDNS has no such key'] }]
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual(expected)
  })
})

describe('what is wrong is told', () => {
  test.each([
    ['', /^expected a JSON object \(Unexpected end of JSON input\)$/],
    ['{"ttl":60', /^expected a JSON object \(/],
    ['[]', /^expected a JSON object, not "\[\]"$/],
    ['60', /^expected a JSON object, not "60"$/],
    ['{"domain":1}', /^domain: expected a text, not 1$/],
    ['{"ttl":"60"}', /^ttl: expected a whole number, at most 2147483647, not "60"$/],
    ['{"ttl":1e999}', /^ttl: expected a whole number, at most 2147483647, not a number that large$/],
    ['{"ttl":1.5}', /^ttl: expected a whole number, at most 2147483647, not 1.5$/],
    ['{"priority":70000}', /^priority: expected a whole number, at most 65535, not 70000$/],
    ['{"ttl":4294967295}', /^ttl: expected a whole number, at most 2147483647, not 4294967295$/],
    ['{"nameservers":"192.0.2.1:53"}', /^nameservers: expected a list of texts, not "192.0.2.1:53"$/],
    ['{"nameservers":[1]}', /^nameservers: expected a list of texts, not \[1\]$/],
    ['{"no_rec":"true"}', /^no_rec: expected true or false, not "true"$/],
    ['{"read_timeout":"2"}', /^read_timeout: expected a duration such as 2s or 500ms, from 1ms to 1h, not "2"$/],
    ['{"read_timeout":-1}', /^read_timeout: expected a duration/],
    ['{"ttl":-1}', /^ttl: expected a whole number/]
  ])('%s', (text, problem) => {
    expect(read(text)).toMatch(problem)
  })
})

test('an object or a key that is too long makes no line as long', () => {
  expect(read(`{"domain":"${'x'.repeat(1 << 20)}"}`)).toBe('expected at most 1048576 octets, not 1048589')
  expect(read(`{"${'x'.repeat(100_000)}":1}`)).toEqual({
    notes: [`/skydns/config: ${'x'.repeat(60)}… has no effect: SkyDNS has no such key`]
  })
})
