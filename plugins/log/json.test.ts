import { type AskOptions, serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { file, plugin } from './answering-plugin.testing.js'

/** What is logged of one question, or several, to a server with these lines in its block. */
async function linesOf(block: string, questions: string | readonly string[], options: AskOptions = {}): Promise<readonly string[]> {
  const server = await serverOf(`. {\n  ${block}\n}`, { file })
  for (const question of [questions].flat()) await server.ask(question, options).catch(() => {})
  await server.stop()
  return server.log.lines
}

const KEYS =
  'time level msg plugin client_ip client_port qname qtype qclass protocol id opcode request_size dnssec_ok bufsize rcode response_size duration_seconds layer why upstream cache'

async function recordsOf(block: string, question: string, options: AskOptions = {}): Promise<Record<string, unknown>[]> {
  const lines = await linesOf(block, question, options)
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('with `json` a query is an object on one line', () => {
  test('with CoreDNS’s names in their order, then ours', async () => {
    const [record, ...more] = await recordsOf('log {\n    json\n  }\n  whoami', 'WwW.Example.org. A', {
      id: 4711,
      edns: 1232,
      dnssecOk: true
    })
    expect(more).toEqual([])
    expect(Object.keys(record!).join(' ')).toBe(KEYS)
    expect(record).toEqual({
      time: '2026-01-01T00:00:00.000Z',
      level: 'INFO',
      msg: '192.0.2.1:4711 - 4711 "A IN www.example.org. udp 44 true 1232" NOERROR qr,aa,rd 84 0s',
      plugin: 'log',
      client_ip: '192.0.2.1',
      client_port: 4711,
      qname: 'www.example.org.',
      qtype: 'A',
      qclass: 'IN',
      protocol: 'udp',
      id: 4711,
      opcode: 0,
      request_size: 44,
      dnssec_ok: true,
      bufsize: 1232,
      rcode: 'NOERROR',
      response_size: 84,
      duration_seconds: 0,
      layer: 'whoami',
      why: 'whoami',
      upstream: null,
      cache: null
    })
  })

  test.each<[string, string, Record<string, unknown>]>([
    ['the FORMAT as `msg`', 'query.reply({ why: "x" })', { msg: 'x "example.org."' }],
    ['no rcode where nothing was answered', 'Symbol.for("skein.drop")', { rcode: null, response_size: 0, why: 'dropped' }],
    ['the rcode that the client got', '(() => { throw new Error() })()', { rcode: 'SERVFAIL', why: 'fault' }],
    ['the rcode that it got instead of one that needs EDNS', 'query.reply({ rcode: "BADCOOKIE" })', { rcode: 'SERVFAIL' }],
    ['the upstream', 'query.reply({ origin: { kind: "upstream", upstream: "[::1]:53" } })', { upstream: '[::1]:53' }],
    ['a hit of a cache', '(query.set({ name: "cache/hit" }, true), query.reply({}))', { cache: 'hit' }],
    ['a reason with anything in it', 'query.reply({ why: "a\\"\\n\\u2028\\ud800" })', { why: 'a"\n\u2028\ud800' }],
    ['a reason that is no text', 'query.reply({ why: 5 })', { why: null }]
  ])('that has %s', async (_title, reply, part) => {
    const errors = plugin(`(query) => ${reply}`)
    const lines = await linesOf(`log "{why} \\"{name}\\"" {\n    json\n  }\n  ${errors}`, 'example.org. A')
    expect(JSON.parse(lines.at(-1)!)).toMatchObject(part)
    for (const line of lines) expect(line).not.toMatch(/[\n\r]/)
  })

  test('and stays one, valid, whatever octet the name has', async () => {
    const names = Array.from({ length: 256 }, (_, octet) => `a\\${String(octet).padStart(3, '0')}b.`)
    const lines = await linesOf(
      'log {\n    json\n  }\n  whoami',
      names.map((name) => `${name} A`)
    )
    expect(lines).toHaveLength(256)
    for (const line of lines) {
      expect(line).toMatch(/^\{[ -~]+\}$/)
      expect((JSON.parse(line) as { qname: string }).qname).toMatch(/^a[!-~]{1,4}b\.$/)
    }
    expect((JSON.parse(lines[0x22]!) as { qname: string }).qname).toBe('a\\"b.')
    expect((JSON.parse(lines[0x0a]!) as { qname: string }).qname).toBe('a\\010b.')
  })

  test.each<[AskOptions, Record<string, unknown>]>([
    [
      { client: { address: '2001:db8::1', port: 9, transport: 'tls' } },
      { client_ip: '2001:db8::1', client_port: 9, protocol: 'tcp', bufsize: 65535 }
    ],
    [{ client: { transport: 'quic' } }, { protocol: 'udp', bufsize: 512 }]
  ])('%j', async (options, part) => {
    expect(await recordsOf('log {\n    json\n  }\n  whoami', 'example.org. A', options)).toEqual([expect.objectContaining(part)])
  })
})

test('without it lines are JSON where those of the process are', async () => {
  const server = await serverOf('. {\n  log\n  whoami\n}', { file, logFormat: 'json' })
  await server.ask('example.org. A')
  await server.stop()
  expect(server.log.lines.map((line) => JSON.parse(line) as unknown)).toEqual([expect.objectContaining({ qname: 'example.org.' })])
})
