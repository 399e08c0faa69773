import type { Entry } from 'skein/plugin'
import { describe, expect, test } from 'vitest'
import { readService, type Service, ServiceProblem } from './service.js'

const NOW = 1_000_000

function entryOf(value: string, expires?: number): Entry {
  return { key: ['skydns', 'x'], value: Buffer.from(value), created: 1, modified: 2, expires }
}

const read = (value: string, expires?: number): Service | ServiceProblem =>
  readService(entryOf(value, expires), { ttl: 3600, now: NOW, leaseTtl: (leftMs) => Math.max(0, Math.ceil(leftMs / 1000)) })

describe('a value is a service', () => {
  const plain = {
    port: 0,
    priority: 0,
    weight: 0,
    text: '',
    mail: false,
    ttl: 3600,
    originalTtl: 3600,
    targetStrip: 0,
    group: '',
    host: undefined,
    key: ['skydns', 'x'],
    modified: 2
  }

  test.each<[string, Partial<Service>]>([
    ['{}', {}],
    [' {"unknown": [1, {}], "__proto__": 1, "constructor": 1} ', {}],
    ['{"host":""}', {}],
    ['{"host":null,"port":null,"text":null,"mail":null,"ttl":null}', {}],
    ['{"host":"192.0.2.1"}', { host: { kind: 'A', address: '192.0.2.1' } }],
    ['{"host":"2001:DB8:0::1"}', { host: { kind: 'AAAA', address: '2001:db8::1' } }],
    ['{"host":"::ffff:192.0.2.1"}', { host: { kind: 'A', address: '192.0.2.1' } }],
    ['{"host":"::ffff:c000:201"}', { host: { kind: 'A', address: '192.0.2.1' } }],
    ['{"host":"::192.0.2.1"}', { host: { kind: 'AAAA', address: '::c000:201' } }],
    ['{"host":"192.0.2.256"}', { host: { kind: 'name', name: '192.0.2.256.' } }],
    ['{"host":"Web.Example.ORG"}', { host: { kind: 'name', name: 'web.example.org.' } }],
    ['{"host":"web.example.org."}', { host: { kind: 'name', name: 'web.example.org.' } }],
    ['{"host":"bücher.example"}', { host: { kind: 'name', name: 'b\\195\\188cher.example.' } }],
    ['{"host":"."}', { host: { kind: 'name', name: '.' } }],
    ['{"port":65535,"priority":65535,"weight":65535}', { port: 65535, priority: 65535, weight: 65535 }],
    ['{"port":1e3}', { port: 1000 }],
    [
      '{"HOST":"192.0.2.1","Port":1,"TargetStrip":2,"MAIL":true}',
      { host: { kind: 'A', address: '192.0.2.1' }, port: 1, targetStrip: 2, mail: true }
    ],
    ['{"host":"192.0.2.1","Host":null}', { host: { kind: 'A', address: '192.0.2.1' } }],
    ['{"Port":"x","port":5,"PORT":null}', { port: 5 }],
    ['{"text":"a\\\\b\\"\\u0000\\n"}', { text: 'a\\b"\0\n' }],
    ['{"ttl":0}', { ttl: 3600 }],
    ['{"ttl":2147483647}', { ttl: 2147483647, originalTtl: 2147483647 }],
    ['{"group":"g1","targetstrip":3}', { group: 'g1', targetStrip: 3 }]
  ])('%s', (value, expected) => {
    expect(read(value)).toEqual({ ...plain, ...expected })
  })

  test('whose TTL is never more than what is left of its key', () => {
    const left = (value: string, milliseconds: number): number => (read(value, NOW + milliseconds) as Service).ttl
    expect([left('{}', 60_000), left('{"ttl":10}', 60_000), left('{"ttl":120}', 60_000)]).toEqual([60, 10, 60])
    expect([left('{}', 59_001), left('{}', 1), left('{}', 0), left('{}', -5000)]).toEqual([60, 1, 0, 0])
    expect(left('{}', 1e12)).toBe(3600)
  })
})

describe('a value is none', () => {
  test.each([
    ['', 'is no JSON'],
    ['{', 'is no JSON'],
    ['{"host":192.0.2.2}', 'is no JSON'],
    ["{'host':'192.0.2.2'}", 'is no JSON'],
    ['{"host":"192.0.2.2"} x', 'is no JSON'],
    ['null', 'is no JSON object'],
    ['[]', 'is no JSON object'],
    ['"192.0.2.1"', 'is no JSON object'],
    ['42', 'is no JSON object'],
    ['{"port":"80"}', 'has port "80", expected a whole number from 0 to 65535'],
    ['{"port":65536}', 'has port 65536, expected a whole number from 0 to 65535'],
    ['{"port":1.5}', 'has port 1.5, expected a whole number from 0 to 65535'],
    ['{"priority":-1}', 'has priority -1, expected a whole number from 0 to 65535'],
    ['{"weight":1e9}', 'has weight 1000000000, expected a whole number from 0 to 65535'],
    [`{"ttl":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'has ttl something deep, expected a whole number from 0 to 2147483647'],
    ['{"weight":[1]}', 'has weight [1], expected a whole number from 0 to 65535'],
    ['{"ttl":2147483648}', 'has ttl 2147483648, expected a whole number from 0 to 2147483647'],
    ['{"ttl":"60"}', 'has ttl "60", expected a whole number from 0 to 2147483647'],
    ['{"targetstrip":-1}', 'has targetstrip -1, expected a whole number from 0 to 2147483647'],
    ['{"host":1}', 'has host 1, expected text in quotes'],
    ['{"text":["a"]}', 'has text ["a"], expected text in quotes'],
    ['{"group":{}}', 'has group {}, expected text in quotes'],
    ['{"mail":"true"}', 'has mail "true", expected true or false'],
    ['{"mail":1}', 'has mail 1, expected true or false'],
    ['{"host":"a..b"}', 'has host "a..b", expected an address or a name: an empty label in the name "a..b"'],
    [`{"host":"${'a'.repeat(64)}"}`, 'expected an address or a name: a label longer than 63 octets'],
    ['{"HOST":7}', 'has host 7, expected text in quotes']
  ])('%s', (value, problem) => {
    const service = read(value)
    expect(service).toBeInstanceOf(ServiceProblem)
    expect((service as ServiceProblem).problem).toContain(problem)
  })
})
