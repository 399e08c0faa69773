import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOf } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { schema } from './options.js'

const etcd = (options: string, zones = ''): string => `. {\n  etcd ${zones} {\n    store\n    ${options}\n  }\n}`

async function ask(corefile: string, question: string): Promise<string> {
  const server = await serverOf(corefile, {
    services: { '/skydns/org/x': { host: '192.0.2.1' }, '/a/b/org/x': { host: '192.0.2.2', mail: true } }
  })
  const { answer, authority, rcode } = await server.ask(question)
  await server.stop()
  return [rcode, ...answer, ...authority].join(' | ')
}

describe('an option does what it says', () => {
  test.each<[string, string, string]>([
    ['', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.1'],
    ['path /a/b', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.2'],
    ['path a//b/', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.2'],
    ['ttl 60', 'x.org. A', 'NOERROR | x.org. 60 A 192.0.2.1'],
    ['ttl 0', 'x.org. A', 'NOERROR | x.org. 0 A 192.0.2.1'],
    ['priority 5', 'x.org. SRV', 'NOERROR | x.org. 3600 SRV 5 100 0 x.org.'],
    ['path /a/b\npriority 5', 'x.org. MX', 'NOERROR | x.org. 3600 MX 5 x.org.'],
    ['min_ttl 7', 'y.org. A', 'NXDOMAIN | . 7 SOA ns.dns. hostmaster. 1767225600 28800 7200 604800 7'],
    ['hostmaster dns.admin@example.org', '. SOA', 'NOERROR | . 3600 SOA ns.dns. dns\\.admin.example.org. 1767225600 28800 7200 604800 60'],
    ['hostmaster admin.example.org', '. SOA', 'NOERROR | . 3600 SOA ns.dns. admin.example.org. 1767225600 28800 7200 604800 60'],
    ['local x.org', 'local.dns. A', 'NOERROR | local.dns. 3600 A 192.0.2.1'],
    ['fallthrough', 'y.org. A', 'REFUSED'],
    ['fallthrough net', 'y.org. A', 'NXDOMAIN | . 60 SOA ns.dns. hostmaster. 1767225600 28800 7200 604800 60'],
    ['stubzones\ndebug\nupstream 192.0.2.1', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.1'],
    ['token 12345678', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.1'],
    ['api unix:./api', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.1'],
    ['api [::1]:0', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.1'],
    ['api off', 'x.org. A', 'NOERROR | x.org. 3600 A 192.0.2.1']
  ])('%j: %s', async (options, question, expected) => {
    expect(await ask(etcd(options), question)).toBe(expected)
  })

  test('zones are those of the server block, or its own', async () => {
    expect(await ask('org net {\n  etcd {\n    store\n  }\n}', 'x.org. A')).toBe('NOERROR | x.org. 3600 A 192.0.2.1')
    expect(await ask(etcd('', 'Net example'), 'x.org. A')).toBe('REFUSED')
    expect(await ask(etcd('', 'ORG.'), 'x.org. A')).toBe('NOERROR | x.org. 3600 A 192.0.2.1')
  })
})

const folder = mkdtempSync(join(tmpdir(), 'skein-'))
afterAll(() => rmSync(folder, { recursive: true }))
const pem = (what: string): string => `-----BEGIN ${what}-----\nMAo=\n-----END ${what}-----\n`
const PEM = { 'ca.crt': pem('CERTIFICATE'), 'skein.crt': pem('CERTIFICATE'), 'skein.key': pem('PRIVATE KEY') }
for (const [name, text] of Object.entries({ ...PEM, 'notes.txt': 'none\n' })) writeFileSync(join(folder, name), text)

/** What feeds the store of an `etcd` with these options, and its store and keys API. */
async function fedBy(...options: string[]) {
  const corefile = `. {\n  etcd {\n${options.map((option) => `    ${option}\n`).join('')}  }\n}`
  const server = await serverOf(corefile, { file: join(folder, 'Corefile') })
  const [store] = server.instance.blocks[0]!.scope.stores
  await server.stop()
  const warnings = server.log.lines.flatMap((line) => /^\[WARNING\] plugin\/etcd: (.*)/.exec(line)?.[1] ?? [])
  return { ...store!.options, warnings }
}

describe('the members of a cluster are', () => {
  test.each<[string, string[]]>([
    ['etcd', ['http://etcd:2379']],
    ['http://etcd', ['http://etcd:2379']],
    ['http://etcd/', ['http://etcd:2379']],
    ['http://etcd:80 etcd:1', ['http://etcd:80', 'http://etcd:1']],
    ['HTTPS://Etcd.Example:443', ['https://etcd.example:443']],
    ['https://etcd', ['https://etcd:2379']],
    ['192.0.2.1 192.0.2.2:4001', ['http://192.0.2.1:2379', 'http://192.0.2.2:4001']],
    ['http://[::1] [2001:db8::1]:4001', ['http://[::1]:2379', 'http://[2001:db8::1]:4001']],
    ['etcd http://etcd:2379 http://ETCD/', ['http://etcd:2379']]
  ])('with endpoint %s', async (urls, endpoints) => {
    expect((await fedBy(`endpoint ${urls}`)).etcd?.endpoints).toEqual(endpoints)
  })
})

describe('a cluster is reached as the options say,', () => {
  const LEFT_OUT = { version: 3, endpoints: ['http://localhost:2379'], path: '/skydns', expireMs: 86_400_000 }

  test.each<[string, string[], object | undefined]>([
    ['nothing', [], LEFT_OUT],
    ['a path', ['path a//b/'], { ...LEFT_OUT, path: '/a/b' }],
    ['a path for all keys', ['path /'], { ...LEFT_OUT, path: '' }],
    ['a path in UTF-8', ['path /é'], { ...LEFT_OUT, path: '/é' }],
    ['the other version', ['version 2', 'expire 1m'], { ...LEFT_OUT, version: 2, expireMs: 60_000 }],
    ['user and password', ['credentials skein "hush hush"'], { ...LEFT_OUT, credentials: { user: 'skein', password: 'hush hush' } }],
    ['tls without files', ['tls'], { ...LEFT_OUT, tls: {} }],
    ['tls with one file', ['tls ca.crt'], { ...LEFT_OUT, tls: { authority: PEM['ca.crt'] } }],
    ['tls with two', ['tls skein.crt skein.key'], { ...LEFT_OUT, tls: { certificate: PEM['skein.crt'], key: PEM['skein.key'] } }],
    [
      'tls with three',
      ['tls skein.crt skein.key ca.crt'],
      { ...LEFT_OUT, tls: { certificate: PEM['skein.crt'], key: PEM['skein.key'], authority: PEM['ca.crt'] } }
    ],
    ['a store and no endpoint', ['store'], undefined],
    ['a store and no endpoint, with TTLs of leases', ['store', 'min-lease-ttl 5', 'max-lease-ttl 1h'], undefined],
    ['a store and an endpoint', ['store', 'endpoint etcd'], { ...LEFT_OUT, endpoints: ['http://etcd:2379'] }]
  ])('%s', async (_title, options, source) => {
    expect((await fedBy(...options)).etcd).toEqual(source)
  })

  test.each<[string[], string]>([
    [['store'], '127.0.0.1:4001'],
    [['store', 'endpoint etcd'], 'off'],
    [[], 'off'],
    [['api 127.0.0.1:4001'], '127.0.0.1:4001']
  ])('and %j has its keys API at %s', async (options, api) => {
    expect((await fedBy(...options)).api).toBe(api)
  })
})

describe('what an operator may not have meant is a warning', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['tls', ['endpoint http://etcd', 'tls ca.crt'], ['tls has no effect on endpoints with http://']],
    [
      'a password',
      ['endpoint http://127.0.0.1 http://etcd', 'credentials skein hush'],
      ['the password is sent to etcd as it is, for all to read: have endpoints with https://']
    ],
    ['a password on this machine', ['endpoint http://127.0.0.1 http://[::1] http://localhost', 'credentials skein hush'], []],
    ['tls and a password', ['endpoint https://etcd', 'tls ca.crt', 'credentials skein hush'], []]
  ])('%s', async (_title, options, warnings) => {
    expect((await fedBy(...options)).warnings).toEqual(warnings)
  })
})

const URL_EXPECTED = 'expected a URL such as http://127.0.0.1:2379, https://etcd.example:2379 or http://[::1]:2379'
const DURATION = 'a duration such as 30s or 5m'
const LEASE = `${DURATION}, at least 0s, at most 2147483647s`
const EXPIRE = `${DURATION}, at least 1s, at most 8760h`
const TOO = 'says how etcd is reached, expected `endpoint URL…` too'

describe('a wrong line is an error with file and line', () => {
  test.each([
    [
      'etcd {\n    endpoint http://a,http://b\n  }',
      `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "http://a,http://b": several stand with spaces between them`
    ],
    ['etcd {\n    endpoint\n  }', 'Corefile:3: etcd: endpoint: expected a URL such as http://127.0.0.1:2379, not nothing'],
    ['etcd {\n    endpoint ftp://etcd\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "ftp://etcd"`],
    ['etcd {\n    endpoint http://\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "http://"`],
    ['etcd {\n    endpoint http:etcd\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "http:etcd"`],
    ['etcd {\n    endpoint unix:///run/etcd\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "unix:///run/etcd"`],
    ['etcd {\n    endpoint http://etcd/v3\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "http://etcd/v3"`],
    ['etcd {\n    endpoint http://etcd?a\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "http://etcd?a"`],
    ['etcd {\n    endpoint http://etcd:65536\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "http://etcd:65536"`],
    ['etcd {\n    endpoint etcd:http\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "etcd:http"`],
    ['etcd {\n    endpoint ::1\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "::1"`],
    ['etcd {\n    endpoint [::1\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "[::1"`],
    ['etcd {\n    endpoint a%20b\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "a%20b"`],
    ['etcd {\n    endpoint "http://etcd#a"\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "http://etcd#a"`],
    ['etcd {\n    endpoint ""\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not ""`],
    ['etcd {\n    endpoint localhost:2379, localhost:2380\n  }', `Corefile:3: etcd: endpoint: ${URL_EXPECTED}, not "localhost:2379,"`],
    ['etcd {\n    endpoint a\n    endpoint b\n  }', 'Corefile:4: etcd: endpoint: stands in line 3 already, expected it once'],
    [
      'etcd {\n    endpoint http://a b https://c\n  }',
      'Corefile:3: etcd: endpoint: http://a:2379 and https://c:2379 differ in their scheme, expected https:// for all members or for none'
    ],
    ['etcd {\n    version\n  }', 'Corefile:3: etcd: version: expected NUMBER: one of 2, 3'],
    ['etcd {\n    version 4\n  }', 'Corefile:3: etcd: version: expected one of 2, 3, not "4"'],
    ['etcd {\n    credentials\n  }', 'Corefile:3: etcd: credentials: expected USER PASSWORD: a text, then a text'],
    ['etcd {\n    credentials skein\n  }', 'Corefile:3: etcd: credentials: expected PASSWORD after "skein": a text'],
    [
      'etcd {\n    endpoint https://etcd\n    tls a b c d\n  }',
      'Corefile:4: etcd: tls: expected CA, or CERT KEY, or CERT KEY CA, not 4 files'
    ],
    [
      'etcd {\n    endpoint https://etcd\n    tls notes.txt\n  }',
      'Corefile:4: etcd: tls: "notes.txt" holds no PEM text of the certificate of an authority; expected CA, or CERT KEY, or CERT KEY CA'
    ],
    [
      'etcd {\n    endpoint https://etcd\n    tls notes.txt skein.key\n  }',
      'Corefile:4: etcd: tls: "notes.txt" holds no PEM text of a certificate; expected CA, or CERT KEY, or CERT KEY CA'
    ],
    [
      'etcd {\n    endpoint https://etcd\n    tls skein.crt notes.txt\n  }',
      'Corefile:4: etcd: tls: "notes.txt" holds no PEM text of a private key; expected CA, or CERT KEY, or CERT KEY CA'
    ],
    [
      'etcd {\n    endpoint https://etcd\n    tls skein.crt skein.key notes.txt\n  }',
      'Corefile:4: etcd: tls: "notes.txt" holds no PEM text of the certificate of an authority; expected CA, or CERT KEY, or CERT KEY CA'
    ],
    [
      'etcd {\n    endpoint https://etcd\n    tls skein.key skein.crt\n  }',
      'Corefile:4: etcd: tls: "skein.key" holds no PEM text of a certificate; expected CA, or CERT KEY, or CERT KEY CA'
    ],
    [
      'etcd {\n    endpoint https://etcd\n    tls skein.crt ca.crt skein.key\n  }',
      'Corefile:4: etcd: tls: "ca.crt" holds no PEM text of a private key; expected CA, or CERT KEY, or CERT KEY CA'
    ],
    [
      'etcd {\n    endpoint https://etcd\n    tls skein.crt skein.key nothere.crt\n  }',
      'Corefile:2: etcd: cannot read nothere.crt: there is no such file'
    ],
    ['etcd {\n    endpoint https://etcd\n    tls .\n  }', 'Corefile:2: etcd: cannot read .: it is a folder'],
    ['etcd {\n    min-lease-ttl\n  }', `Corefile:3: etcd: min-lease-ttl: expected SECONDS: ${LEASE}`],
    ['etcd {\n    min-lease-ttl -1\n  }', `Corefile:3: etcd: min-lease-ttl: expected ${LEASE}, not "-1"`],
    ['etcd {\n    max-lease-ttl 2147483648\n  }', `Corefile:3: etcd: max-lease-ttl: expected ${LEASE}, not "2147483648"`],
    ['etcd {\n    min-lease-ttl 86401\n  }', 'Corefile:3: etcd: min-lease-ttl: expected at most the 86400 s of max-lease-ttl, not 86401 s'],
    [
      'etcd {\n    max-lease-ttl 5s\n    min-lease-ttl 6\n  }',
      'Corefile:4: etcd: min-lease-ttl: expected at most the 5 s of max-lease-ttl, not 6 s'
    ],
    ['etcd {\n    expire 30\n  }', `Corefile:3: etcd: expire: expected ${EXPIRE}, not "30"`],
    ['etcd {\n    expire 999ms\n  }', `Corefile:3: etcd: expire: expected ${EXPIRE}, not "999ms"`],
    ['etcd {\n    expire 8761h\n  }', `Corefile:3: etcd: expire: expected ${EXPIRE}, not "8761h"`],
    ['etcd {\n    store\n    version 3\n  }', `Corefile:4: etcd: version: ${TOO}`],
    ['etcd {\n    store\n    credentials skein hush-hush\n  }', `Corefile:4: etcd: credentials: ${TOO}`],
    ['etcd {\n    store\n    tls\n  }', `Corefile:4: etcd: tls: ${TOO}`],
    ['etcd {\n    store\n    expire 1h\n  }', `Corefile:4: etcd: expire: ${TOO}`],
    ['etcd {\n    no_apex_fallback on\n  }', 'Corefile:3: etcd: no_apex_fallback: expected no argument, not "on"'],
    ['etcd {\n    min_lease_ttl 5\n  }', 'Corefile:3: etcd: unknown option "min_lease_ttl", did you mean min-lease-ttl?'],
    [
      'etcd a..b {\n    store\n  }',
      'Corefile:2: etcd: "a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'
    ],
    ['etcd "" {\n    store\n  }', 'Corefile:2: etcd: "": no zone, expected one such as example.org, or . for all'],
    ['etcd 192.0.2.1 {\n    store\n  }', 'Corefile:2: etcd: expected a zone such as . or example.org, not the address "192.0.2.1"'],
    ['etcd {\n    store a b\n  }', 'Corefile:3: etcd: store: expected at most 1 argument, not "b"'],
    ['etcd {\n    store ""\n  }', 'Corefile:3: etcd: store: expected a path, not ""'],
    ['etcd {\n    store\n    store\n  }', 'Corefile:4: etcd: store: stands in line 3 already, expected it once'],
    ['etcd {\n    store {\n    }\n  }', 'Corefile:3: etcd: store: takes no block in braces'],
    ['etcd {\n    path\n  }', 'Corefile:3: etcd: path: expected a path such as /skydns, not nothing'],
    ['etcd {\n    path a b\n  }', 'Corefile:3: etcd: path: expected at most 1 argument, not "b"'],
    ['etcd {\n    api\n  }', 'Corefile:3: etcd: api: expected ADDRESS:PORT, unix:PATH or off, not nothing'],
    ['etcd {\n    api 4001\n  }', 'Corefile:3: etcd: api: expected ADDRESS:PORT, unix:PATH or off, not "4001"'],
    ['etcd {\n    api ::1:4001\n  }', 'Corefile:3: etcd: api: expected ADDRESS:PORT, unix:PATH or off, not "::1:4001"'],
    ['etcd {\n    api 127.0.0.1:65536\n  }', 'Corefile:3: etcd: api: expected ADDRESS:PORT, unix:PATH or off, not "127.0.0.1:65536"'],
    ['etcd {\n    api unix:\n  }', 'Corefile:3: etcd: api: expected ADDRESS:PORT, unix:PATH or off, not "unix:"'],
    ['etcd {\n    api of\n  }', 'Corefile:3: etcd: api: expected ADDRESS:PORT, unix:PATH or off, not "of"'],
    ['etcd {\n    token\n  }', 'Corefile:3: etcd: token: expected at least 8 printable characters without spaces, not nothing'],
    ['etcd {\n    token 1234567\n  }', 'Corefile:3: etcd: token: expected at least 8 printable characters without spaces'],
    ['etcd {\n    token "1234 5678"\n  }', 'Corefile:3: etcd: token: expected at least 8 printable characters without spaces'],
    ['etcd {\n    ttl\n  }', 'Corefile:3: etcd: ttl: expected SECONDS: a whole number from 0 to 2147483647'],
    ['etcd {\n    ttl 1h\n  }', 'Corefile:3: etcd: ttl: expected a whole number from 0 to 2147483647, not "1h"'],
    ['etcd {\n    ttl 2147483648\n  }', 'Corefile:3: etcd: ttl: expected a whole number from 0 to 2147483647, not "2147483648"'],
    ['etcd {\n    min_ttl -1\n  }', 'Corefile:3: etcd: min_ttl: expected a whole number from 0 to 2147483647, not "-1"'],
    ['etcd {\n    rcache_ttl 1 2\n  }', 'Corefile:3: etcd: rcache_ttl: expected at most 1 argument, not "2"'],
    ['etcd {\n    priority 0\n  }', 'Corefile:3: etcd: priority: expected a whole number from 1 to 65535, not "0"'],
    ['etcd {\n    hostmaster\n  }', 'Corefile:3: etcd: hostmaster: expected a mail address, not nothing'],
    [
      'etcd {\n    hostmaster @example.org\n  }',
      'Corefile:3: etcd: hostmaster: expected a mail address, not "@example.org": an empty label in the name ".example.org"'
    ],
    ['etcd {\n    local\n  }', 'Corefile:3: etcd: local: expected NAME: a domain name such as www.example.org'],
    [
      'etcd {\n    local a..b\n  }',
      'Corefile:3: etcd: local: "a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'
    ],
    [
      'etcd {\n    fallthrough a..b\n  }',
      'Corefile:3: etcd: fallthrough: "a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'
    ],
    ['etcd {\n    endpoints a\n  }', 'Corefile:3: etcd: unknown option "endpoints", did you mean endpoint?'],
    ['etcd {\n    ttls 5\n  }', 'Corefile:3: etcd: unknown option "ttls", did you mean ttl?'],
    ['etcd {\n    constructor\n  }', 'Corefile:3: etcd: unknown option "constructor", expected one of store, api, token, path, ttl,'],
    [
      'etcd {\n    store\n  }\n  etcd {\n    store\n  }',
      'Corefile:5: etcd: may stand only once in a server block, and stands in line 2 already'
    ]
  ])('%j', async (block, message) => {
    const corefile = `. {\n  ${block}\n}`
    const told = message.replace('Corefile:', `${join(folder, 'Corefile')}:`)
    await expect(serverOf(corefile, { file: join(folder, 'Corefile') })).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: expect.stringContaining(told)
    })
  })
})

describe('a zone without room for the names of its SOA is an error with file and line', () => {
  // Octets: those of the zone's name on the wire.
  const zoneOf = (octets: number): string => `${`${'a'.repeat(49)}.`.repeat(4)}${'b'.repeat(octets - 202)}`

  test.each<[string, number, string, string | undefined]>([
    ['hostmaster', 245, '', 'hostmaster'],
    ['with a mailbox of its own', 249, 'hostmaster a@example.org', 'ns.dns'],
    ['none of both', 255, '', 'ns.dns'],
    ['room for hostmaster', 244, '', undefined],
    ['room for ns.dns', 248, 'hostmaster a@example.org', undefined]
  ])('%s: %d octets', async (_title, octets, option, missing) => {
    const zone = zoneOf(octets)
    const own = `. {\n  etcd ${zone} {\n    store\n    ${option}\n  }\n}`
    const ofBlock = `${zone} {\n  etcd {\n    store\n    ${option}\n  }\n}`
    for (const corefile of [own, ofBlock]) {
      if (missing === undefined) expect(await ask(corefile, `${zone} LOC`)).toContain('NOERROR | ')
      else {
        await expect(serverOf(corefile)).rejects.toMatchObject({
          code: 'SKEIN_CONFIG',
          message: `Corefile:2: etcd: the zone "${zone.slice(0, 60)}…" leaves no room for ${missing} in it: a name has 255 octets at most`
        })
      }
    }
  })
})

test.each([
  'token 1234567',
  'token "1234 5678"',
  'token 1234 5678',
  'credentials 1234 12345678 1234',
  'credentials a b 1234',
  'endpoint http://skein:12345678@etcd.example',
  'endpoint skein:12345678@etcd.example'
])('%j is a secret, and is not told to whoever reads the message', async (line) => {
  const problem = serverOf(`. {\n  etcd {\n    store\n    ${line}\n  }\n}`)
  await expect(problem).rejects.toThrow(/^Corefile:4: etcd: \w+: expected (?!.*\d{4})/)
})

test('the README shows the syntax of all options that there are', async () => {
  const readme = readFileSync(new URL('../../../plugins/etcd-backend/README.md', import.meta.url), 'utf8')
  const syntax = [...readme.slice(0, readme.indexOf('The key')).matchAll(/^ {2}([\w-]+)/gm)].map(([, name]) => name)
  const known = Object.entries(schema.options).flatMap(([name, option]) => ('status' in option ? [] : [name]))
  expect(new Set(syntax)).toEqual(new Set(known))
})
