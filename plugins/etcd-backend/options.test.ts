import { readFileSync } from 'node:fs'
import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'
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

const EMBEDDED = 'is not supported yet, expected `store [DIR]`, the embedded store'
const NOT_YET = `a store fed from an etcd server ${EMBEDDED}`

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['etcd', `Corefile:2: etcd: ${NOT_YET}`],
    ['etcd {\n  }', `Corefile:2: etcd: ${NOT_YET}`],
    ['etcd {\n    path /skydns\n  }', `Corefile:2: etcd: ${NOT_YET}`],
    ['etcd {\n    store\n    endpoint http://127.0.0.1:2379\n  }', `Corefile:4: etcd: endpoint: ${EMBEDDED}`],
    ['etcd {\n    tls\n    credentials a b\n  }', `Corefile:3: etcd: tls: ${EMBEDDED}`],
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
    await expect(serverOf(`. {\n  ${block}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message: expect.stringContaining(message) })
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

test.each(['token 1234567', 'token "1234 5678"', 'token 1234 5678'])(
  '%j is a secret, and is not told to whoever reads the message',
  async (line) => {
    const problem = serverOf(`. {\n  etcd {\n    store\n    ${line}\n  }\n}`)
    await expect(problem).rejects.toThrow(/^Corefile:4: etcd: token: expected (?!.*\d{4})/)
  }
)

test('the README shows the syntax of all options that there are', async () => {
  const readme = readFileSync(new URL('../../../plugins/etcd-backend/README.md', import.meta.url), 'utf8')
  const syntax = [...readme.slice(0, readme.indexOf('The key')).matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name)
  const known = Object.entries(schema.options).flatMap(([name, option]) => ('status' in option ? [] : [name]))
  expect(new Set(syntax)).toEqual(new Set(known))
})
