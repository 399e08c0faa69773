import { type AskOptions, serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'

const label = 'a'.repeat(61)
/** 251 octets: with `_udp.` before it, one too many. */
const long = `${label}.${label}.${label}.${'a'.repeat(63)}.`

describe('whoever asks is told address, port and transport', () => {
  test.each<[string, string, AskOptions['client'], readonly string[]]>([
    ['over UDP', 'example.org. A', {}, ['example.org. 0 A 192.0.2.1', '_udp.example.org. 0 SRV 0 0 4711 .']],
    ['over TCP', 'example.org. AAAA', { transport: 'tcp' }, ['example.org. 0 A 192.0.2.1', '_tcp.example.org. 0 SRV 0 0 4711 .']],
    ['over TLS', 'example.org. TXT', { transport: 'tls' }, ['example.org. 0 A 192.0.2.1', '_tcp.example.org. 0 SRV 0 0 4711 .']],
    [
      'from IPv6',
      'example.org. A',
      { address: '2001:db8::1', port: 1 },
      ['example.org. 0 AAAA 2001:db8::1', '_udp.example.org. 0 SRV 0 0 1 .']
    ],
    ['from a link', 'example.org. A', { address: 'fe80::1%eth0' }, ['example.org. 0 AAAA fe80::1', '_udp.example.org. 0 SRV 0 0 4711 .']],
    ['from IPv4 in IPv6', 'a. A', { address: '::ffff:192.0.2.1' }, ['a. 0 AAAA ::ffff:192.0.2.1', '_udp.a. 0 SRV 0 0 4711 .']],
    ['at the root', '. NS', {}, ['. 0 A 192.0.2.1', '_udp. 0 SRV 0 0 4711 .']],
    ['at a name of any octets', 'a\\.b\\000\\255. A', {}, ['a\\.b\\000\\255. 0 A 192.0.2.1', '_udp.a\\.b\\000\\255. 0 SRV 0 0 4711 .']],
    ['at a name too long for one more label', `${long} A`, {}, [`${long} 0 A 192.0.2.1`]],
    ['at one just short enough', `${long.slice(1)} A`, {}, [`${long.slice(1)} 0 A 192.0.2.1`, `_udp.${long.slice(1)} 0 SRV 0 0 4711 .`]]
  ])('%s', async (_title, question, client, additional) => {
    const server = await serverOf('. {\n  whoami\n}')
    expect(await server.ask(question, { client: client ?? {} })).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa rd',
      answer: [],
      authority: [],
      additional
    })
    expect(server.log.lines).toEqual([])
    await server.stop()
  })
})

test('it may stand twice', async () => {
  const server = await serverOf('. {\n  whoami\n  whoami\n}')
  expect((await server.ask('example.org. A')).additional).toHaveLength(2)
  await server.stop()
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['whoami example.org', 'Corefile:2: whoami: expected no argument, not "example.org"'],
    ['whoami {\n  }', 'Corefile:2: whoami: takes no block in braces']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
