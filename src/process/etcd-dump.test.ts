/** Dumps of etcd as `skein kv import` reads them: what lines come of them, and what is refused. */
import { describe, expect, test } from 'vitest'
import { StoreError } from '../store/store.js'
import { UsageError } from './arguments.js'
import { readDump } from './etcd-dump.js'
import { importInput } from './kv-import.js'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const BOM = '\ufeff'

async function* inChunks(octets: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < octets.length; from += size) yield octets.subarray(from, from + size)
}

/** What a store would be sent of this input, its notes behind it. */
async function read(text: string | Buffer, { ttl, size = 1 << 16 }: { ttl?: number; size?: number } = {}): Promise<string> {
  const { input, notes } = await importInput(inChunks(Buffer.from(text as string), size), ttl, NOW)
  const sent: Buffer[] = []
  for await (const chunk of input) sent.push(chunk)
  return [Buffer.concat(sent).toString().trimEnd(), ...notes].filter((each) => each !== '').join('\n')
}

function base64(text: string | Buffer): string {
  return Buffer.from(text as string).toString('base64')
}

const HEADER = '"header":{"cluster_id":12419417797570985050,"member_id":1520713267247070721,"revision":4,"raft_term":2}'

/** What etcdctl prints of keys, as it is spelled: with the fields that come behind the value. */
function v3(...keys: readonly (readonly [key: string | Buffer, value?: string | Buffer, rest?: string])[]): string {
  const kvs = keys.map(([key, value, rest = '']) => {
    const shown = value === undefined ? '' : `,"value":"${base64(value)}"`
    return `{"key":"${base64(key)}","create_revision":2,"mod_revision":2,"version":1${shown}${rest}}`
  })
  return `{${HEADER},"kvs":[${kvs.join(',')}],"count":${keys.length}}\n`
}

/** What v2 answers to a GET of /skydns with these nodes in it, as text. */
function v2(...nodes: readonly string[]): string {
  return `{"action":"get","node":{"key":"/skydns","dir":true,"nodes":[${nodes.join(',')}],"modifiedIndex":4,"createdIndex":4}}\n`
}

function pretty(json: string, ends = '\n'): string {
  return JSON.stringify(JSON.parse(json), null, 2).replaceAll('\n', ends)
}

const LEASE = ',"lease":4468030621127246598'
const A = '{"key":"/skydns/a","value":"1"}'
const B = '{"key":"/skydns/b","value":"2"}'
const oneOf3 = v3(['/skydns/a', '1'])
const oneOf2 = v2('{"key":"/skydns/a","value":"1","modifiedIndex":1,"createdIndex":1}')
const odd = '}"]\\\\{["'

const forms: readonly (readonly [name: string, text: string, lines: string])[] = [
  ['an object of v3', oneOf3, A],
  ['one of v2', oneOf2, A],
  ['v3 over many lines', pretty(oneOf3), A],
  ['v2 over many lines', pretty(oneOf2, '\r\n'), A],
  ['v3 with its fields sorted', pretty(`{"count":1,${HEADER},"kvs":[{"key":"${base64('/skydns/a')}","value":"${base64('1')}"}]}`), A],
  ['a BOM and many ends of lines', `${BOM}\r\n\n${oneOf3}\n\n\r\n`, A],
  ['no end of a line', oneOf3.trimEnd(), A],
  ['objects of v3 after one another', `${oneOf3}${v3(['/skydns/b', '2'])}`, `${A}\n${B}`],
  ['objects without anything between them', `${oneOf3.trimEnd()}${pretty(v3(['/skydns/b', '2']))}`, `${A}\n${B}`],
  ['files with a BOM after one another', `${BOM}${oneOf3}${BOM}${v3(['/skydns/b', '2'])}`, `${A}\n${B}`],
  ['v2 and v3 after one another', `${oneOf2}${v3(['/skydns/b', '2'])}`, `${A}\n${B}`],
  [
    'what the gateway of v3 answers',
    `{"header":{},"kvs":[{"key":"L2E=","value":"MQ==","lease":"0"}],"count":"1"}`,
    '{"key":"/a","value":"1"}'
  ],
  ['no keys of v3', `{${HEADER}}\n`, ''],
  ['no keys of v3, said so', `{${HEADER},"kvs":null,"count":0}\n`, ''],
  ['an empty directory of v2', '{"action":"get","node":{"key":"/skydns/e","dir":true,"modifiedIndex":6,"createdIndex":6}}\n', ''],
  ['text that looks like JSON in v2', v2(JSON.stringify({ key: '/a', value: odd })), JSON.stringify({ key: '/a', value: odd })],
  [
    'octets that are no UTF-8, and an empty value',
    v3([Buffer.from('/a/\xff', 'latin1'), Buffer.of(0xfe)], ['/b']),
    '{"segments64":["YQ==","/w=="],"value64":"/g=="}\n{"key":"/b","value":""}'
  ],
  ['a key of v2 alone', '{"action":"get","node":{"key":"/skydns/a","value":"1"}}', A],
  ['the root of v2', '{"action":"get","node":{"dir":true,"nodes":[{"key":"/a","value":"1"}]}}', '{"key":"/a","value":"1"}'],
  [
    'what etcdctl prints of v2',
    `{"action":"get","node":{"key":"/skydns","dir":true,"value":"","nodes":[{"key":"/skydns/e","dir":true,"value":"","nodes":null},{"key":"/skydns/d","dir":true,"value":"","nodes":[${A.replace('}', ',"nodes":null}')}]}]},"prevNode":null}`,
    A
  ],
  ['directories within directories', v2(`{"key":"/skydns/c","dir":true,"nodes":[{"key":"/skydns/c/d","dir":true},${A}]}`, B), `${A}\n${B}`],
  ['our own lines', `${A}\n${B}`, `${A}\n${B}`],
  ['our own lines behind a BOM', `${BOM}${A}\n${B}`, `${A}\n${B}`],
  ['nothing', '', '']
]

test.each(forms)('is read: %s, in pieces of any size', async (_name, text, lines) => {
  for (const size of [1 << 16, 7, 1]) expect(await read(text, { size })).toBe(lines)
})

describe('the time to live', () => {
  const node = (key: string, rest: string): string => `{"key":"/skydns/${key}","value":"1"${rest}}`
  const left = (key: string, ttl: number): string => `{"key":"/skydns/${key}","value":"1","ttl":${ttl}}`
  const until = (seconds: number): string => `,"expiration":"${new Date(NOW + seconds * 1000).toISOString().replace('Z', '123456Z')}"`

  test.each([
    ['is what is left until the expiration', v2(node('a', `${until(90.25)},"ttl":500`)), left('a', 91)],
    ['is what is left by the clock of another zone', v2(node('a', ',"expiration":"2025-12-31T16:01:00.5-08:00","ttl":1')), left('a', 61)],
    ['is `ttl` where there is no expiration', v2(node('a', ',"ttl":500')), left('a', 500)],
    ['is none where both are null', v2(node('a', ',"ttl":null,"expiration":null')), A],
    [
      'is that of the directory where that ends sooner',
      v2(`{"key":"/skydns/d","dir":true${until(60)},"nodes":[${node('a', until(90))}]}`),
      left('a', 60)
    ],
    [
      'is that of the key where that ends sooner',
      v2(`{"key":"/skydns/d","dir":true${until(60)},"nodes":[${node('a', until(30))}]}`),
      left('a', 30)
    ],
    [
      'is that of a directory further up',
      v2(`{"key":"/skydns/d","dir":true,"ttl":60,"nodes":[{"key":"/skydns/d/e","dir":true,"nodes":[${node('a', '')}]}]}`),
      left('a', 60)
    ],
    [
      'leaves out what has come to its end',
      v2(node('a', until(-1)), B),
      `${B}\n1 key has come to the end of its time since, and was left out`
    ],
    [
      'leaves out what is in a directory that has',
      v2(`{"key":"/skydns/d","dir":true${until(0)},"nodes":[${A},${B}]}`),
      '2 keys have come to the end of their time since, and were left out'
    ]
  ])('of v2 %s', async (_what, text, lines) => {
    expect(await read(text)).toBe(lines)
  })

  const leased = v3(['/skydns/a', '1', LEASE], ['/skydns/b', '2'])
  test('of a lease of v3 is not known: such keys stay, which is told with what to do', async () => {
    expect(await read(leased)).toBe(
      `${A}\n${B}\n1 key has a lease in etcd, and a dump does not say until when: imported to stay for ever; with -ttl SECONDS such keys vanish after so many`
    )
    expect(await read(`${leased}${leased}`)).toMatch(/\n2 keys have a lease in etcd/)
  })

  test.each([
    ['by the number', leased],
    ['by the text of the gateway', leased.replace(/"lease":(\d+)/, '"lease":"$1"')]
  ])('of a lease of v3 is that of -ttl: %s', async (_how, text) => {
    expect(await read(text, { ttl: 30 })).toBe(`${left('a', 30)}\n${B}`)
  })

  test.each([
    ['our own lines', A],
    ['v2', oneOf2]
  ])('of -ttl is refused with %s', async (_what, text) => {
    const refused = read(text, { ttl: 30 })
    await expect(refused).rejects.toThrow('-ttl: expected with a dump of v3 alone: all else says how long its keys live')
    await expect(refused).rejects.toThrow(UsageError)
  })
})

test('octets that v2 could not give are told of', async () => {
  const text = '{"key":"/skydns/a","value":"\\ufffd"}'
  expect(await read(v2(text))).toMatch(/\n1 key has U\+FFFD in key or value, which v2 of etcd gives in place of octets that are no UTF-8$/)
  expect(await read(v3(['/skydns/a', '\ufffd']))).toBe('{"key":"/skydns/a","value":"\ufffd"}')
})

const kvs = (...texts: readonly string[]): string => `{${HEADER},"kvs":[${texts.join(',')}],"count":${texts.length}}`
const KEY = base64('/skydns/a')
const flat = '{"key":"/skydns/d","dir":true,"modifiedIndex":4,"createdIndex":4}'

const wrong: readonly (readonly [name: string, text: string | Buffer, message: string])[] = [
  ['a file that is cut off', oneOf3.slice(0, 150), 'the dump is cut off behind 150 octets: expected } at its end'],
  ['a second one that is cut off', `${oneOf3}{`, `the dump is cut off behind ${oneOf3.length + 1} octets: expected } at its end`],
  ['something between two', `${oneOf3}x${oneOf3}`, `octet ${oneOf3.length + 1} of the dump: expected { of another object, not "x"`],
  ['UTF-16', Buffer.from(`${BOM}${oneOf3}`, 'utf16le'), 'expected UTF-8, not UTF-16'],
  ['what is no UTF-8', Buffer.from(v2('{"key":"/a","value":"\xff"}'), 'latin1'), 'the dump is no UTF-8'],
  [
    'a second object that is no dump',
    `${oneOf3}${A}`,
    'object 2 of the dump: expected the fields header, kvs, more, count, as `etcdctl get --prefix KEY -w json` prints them, not "key"'
  ],
  [
    'the answer to something else',
    `{${HEADER},"members":[]}`,
    'expected the fields header, kvs, more, count, as `etcdctl get --prefix KEY -w json` prints them, not "members"'
  ],
  [
    'an error of the gateway',
    '{"error":"etcdserver: user\\nname is empty","message":"","code":3}',
    'it has no keys: etcd answered with an error (etcdserver: user name is empty)'
  ],
  ['kvs that is no list', `{${HEADER},"kvs":{}}`, 'kvs: expected a list of keys'],
  ['a key that is no object', kvs(`{"key":"${KEY}"}`, '"x"'), 'kvs[1]: expected an object with key and value in base64'],
  ['no key', kvs('{"value":"MQ=="}'), 'kvs[0]: expected "key" in base64'],
  ['an empty key', kvs('{"key":"","value":"MQ=="}'), 'kvs[0]: expected "key" in base64'],
  ['a key that is no base64', kvs('{"key":"/skydns/a","value":"MQ=="}'), 'kvs[0]: expected "key" in base64'],
  ['a value that is no base64', kvs(`{"key":"${KEY}","value":"M"}`), 'kvs[0]: expected "value" of the key /skydns/a in base64'],
  ['a value that is no text', kvs(`{"key":"${KEY}","value":1}`), 'kvs[0]: expected "value" of the key /skydns/a in base64'],
  [
    'keys of v3 that are not all',
    oneOf3.replace('"count":1', '"more":true,"count":3'),
    'it has 1 of 3 keys: dump them all, without --limit and --count-only'
  ],
  ['a count of v3 alone', `{${HEADER},"count":3}`, 'it has 0 of 3 keys: dump them all, without --limit and --count-only'],
  [
    'keys of v3 alone',
    v3(['/skydns/a'], ['/skydns/b']),
    "none of its keys (2) has a value: dump them without --keys-only; a value that is empty is put by `skein kv put KEY ''`"
  ],
  [
    'a key elsewhere',
    v3(['a b', '1']),
    'the key a\\032b is not below /, so that it can be no key here: delete it in etcd, or dump a prefix without it'
  ],
  [
    'marks of directories',
    v3(['/d/', '1'], ['/b', '2'], ['/e/', '1']),
    'the key /d/ is the mark of a directory (and 1 more), so that it can be no key here: delete it in etcd, or dump a prefix without it'
  ],
  [
    'an empty segment',
    v3(['/d//e', '1']),
    'the key /d//e has an empty segment, so that it can be no key here: delete it in etcd, or dump a prefix without it'
  ],
  [
    'a value that is too large',
    v3(['/skydns/a', 'x'.repeat((1 << 20) + 1)]),
    'the value of /skydns/a has 1048577 octets: 1048576 is the limit'
  ],
  [
    'an error of v2',
    '{"errorCode":100,"message":"Key not found","cause":"/none","index":9}\n',
    'it has no keys: etcd answered with error 100 (Key not found: /none)'
  ],
  [
    'an error of v2 with its fields sorted',
    '{"cause":"/none","errorCode":100,"index":9,"message":"Key not found"}\n',
    'it has no keys: etcd answered with error 100 (Key not found: /none)'
  ],
  [
    'the answer of v2 to a change',
    '{"action":"set","node":{"key":"/a","value":"1"}}',
    'expected "action":"get" and a "node", as GET /v2/keys/PATH?recursive=true answers'
  ],
  ['no node', '{"action":"get"}', 'expected "action":"get" and a "node", as GET /v2/keys/PATH?recursive=true answers'],
  ['a node that is none', v2('1'), 'a node in /skydns: expected an object'],
  ['a node without key', v2('{"value":"1"}'), 'a node in /skydns: expected "key", a path such as "/a/b"'],
  ['one node without key', '{"action":"get","node":{"value":"1"}}', 'the node: expected "key", a path such as "/a/b"'],
  ['a node without value', v2('{"key":"/a"}'), 'the node /a: expected "value", a text, or "dir":true'],
  ['a value of v2 that is no text', v2('{"key":"/a","value":{}}'), 'the node /a: expected "value", a text, or "dir":true'],
  ['a value with nodes', v2('{"key":"/a","value":"1","nodes":[]}'), 'the node /a: expected "value", a text, or "dir":true'],
  [
    'a directory with a value',
    v2('{"key":"/a","dir":true,"value":"1","nodes":[{"key":"/a/b","value":"1"}]}'),
    'the directory /a: expected no "value"'
  ],
  [
    'nodes that are no list',
    v2(`{"key":"/d","dir":true,"nodes":[${A}]}`, '{"key":"/a","dir":true,"nodes":{}}'),
    'the directory /a: expected "nodes" as a list'
  ],
  [
    'an expiration that JavaScript alone takes for a time',
    v2('{"key":"/a","value":"1","expiration":"1"}'),
    'the node /a: expected "expiration" as a time such as 2026-01-31T12:00:00Z'
  ],
  [
    'an endless key',
    v2(`{"key":"/${'a'.repeat(1000)}","value":1}`),
    `the node /${'a'.repeat(199)}…: expected "value", a text, or "dir":true`
  ],
  [
    'an endless error',
    `{"errorCode":1,"message":"${'a'.repeat(1000)}"}`,
    `it has no keys: etcd answered with error 1 (${'a'.repeat(197)}…`
  ],
  ['an endless error of v3', `{"error":"${'a'.repeat(1000)}"}`, `it has no keys: etcd answered with an error (${'a'.repeat(200)}…)`],
  [
    'an expiration that is no time',
    v2('{"key":"/a","value":"1","expiration":"soon"}'),
    'the node /a: expected "expiration" as a time such as 2026-01-31T12:00:00Z'
  ],
  ['a ttl that is no number', v2('{"key":"/a","value":"1","ttl":"5"}'), 'the node /a: expected "ttl" in whole seconds, at least 1'],
  ['a ttl of nothing', v2('{"key":"/a","value":"1","ttl":0}'), 'the node /a: expected "ttl" in whole seconds, at least 1'],
  [
    'an answer of v2 that is not recursive',
    v2(A, flat),
    'the directory /skydns/d has nothing in it: dump with ?recursive=true; where etcd has no more there, dump from the directory above'
  ],
  [
    'one with several directories',
    v2(flat, flat),
    'none of its 2 directories, as the directory /skydns/d, has anything in it: dump with ?recursive=true; where etcd has no more there, dump from the directory above'
  ],
  [
    'a relative key of v2',
    v2('{"key":"a","value":"1"}'),
    'the key a is not below /, so that it can be no key here: delete it in etcd, or dump a prefix without it'
  ]
]

test.each(wrong)('is refused: %s', async (_name, text, message) => {
  await expect(read(text)).rejects.toThrow(new StoreError(`${message}; nothing was imported`))
})

test('what is no JSON is refused with what was wrong, on one line', async () => {
  await expect(read(`{${HEADER}\n,x}`)).rejects.toThrow(/^the dump is no JSON \(.+\); nothing was imported$/)
})

test('a key that is too long is refused in few words', async () => {
  const message = /^the key \/x{199}… is longer than the 1900 octets that a key may have, so .+; nothing was imported$/
  await expect(read(v3([`/${'x'.repeat(1901)}`, '1']))).rejects.toThrow(message)
})

test('an object that is too large for a text is refused before all of it is read', async () => {
  let given = 0
  async function* endless(): AsyncGenerator<Buffer> {
    yield Buffer.from('{"kvs":["')
    for (;;) yield Buffer.alloc(1000, ++given)
  }
  const message = 'the dump has more than the 5 MiB that can be read at once: dump several narrower prefixes; nothing was imported'
  await expect(readDump(endless(), { ttl: undefined, now: NOW, atMost: 5 << 20 })).rejects.toThrow(message)
  expect(given).toBeLessThan(6000)
})

test('one that begins otherwise is left to those who know our lines', async () => {
  for (const text of ['<html>', '[1]', '404 page not found\n', '{"Header":{}}', '\xff']) expect(await read(text)).toBe(text.trimEnd())
})
