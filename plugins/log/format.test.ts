import type { Query, Sent } from 'skein/plugin'
import { type AskOptions, serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { file, plugin } from './answering-plugin.testing.js'
import { compileFormat } from './format.js'
import { seconds } from './values.js'

/** What is logged of one question, or several, to a server with these lines in its block. */
async function linesOf(block: string, questions: string | readonly string[], options: AskOptions = {}): Promise<readonly string[]> {
  const server = await serverOf(`. {\n  ${block}\n}`, { file })
  for (const question of [questions].flat()) await server.ask(question, options).catch(() => {})
  await server.stop()
  return server.log.lines
}

/** A query as far as the format `{name}` looks at it. */
const NAMED = { qname: 'example.org.' } as Query
const SENT = {} as Sent

describe('a format is text with placeholders', () => {
  test.each<[string, string]>([
    ['{type} {class} {name}', 'AAAA IN www.example.org.'],
    ['{proto} {remote} {port} {local}', 'udp [2001:db8::1] 4711 127.0.0.1'],
    ['{size} {>id} {>opcode} {>do} {>bufsize}', '44 7 0 true 1232'],
    ['{rcode} {rsize} {>rflags}', 'NOERROR 96 qr,aa,rd,cd'],
    ['{duration}', '0s'],
    ['{layer} {why} {upstream} {cache}', 'whoami whoami - -'],
    ['{/some/label} {/x} {/}', '- - -'],
    ['{combined}', '[2001:db8::1]:4711 - 7 "AAAA IN www.example.org. udp 44 true 1232" NOERROR qr,aa,rd,cd 96 0s "0"'],
    ['{common} {why}', '[2001:db8::1]:4711 - 7 "AAAA IN www.example.org. udp 44 true 1232" NOERROR qr,aa,rd,cd 96 0s whoami'],
    ['<{name}{type}>{name}', '<www.example.org.AAAA>www.example.org.']
  ])('%s', async (format, text) => {
    const client = { address: '2001:db8::1' }
    const lines = await linesOf(`log . "${format}"\n  whoami`, 'www.EXAMPLE.org. AAAA', { id: 7, dnssecOk: true, flags: 0x10, client })
    expect(lines).toEqual([`[INFO] ${text}`])
  })

  test.each<[string, string, readonly string[]]>([
    ['{ {name} }', '{ example.org. }', []],
    ['{{name}}', '{example.org.}', []],
    ['a}{name}', 'a}example.org.', []],
    ['{name', '{name', []],
    ['}', '}', []],
    ['{name}{', 'example.org.{', []],
    ['{"name": "{name}"}', '{"name": "example.org."}', []],
    ['{Name} {>ID} {when}{name}', '{Name} {>ID} {when}example.org.', ['{Name}', '{>ID}', '{when}']],
    ['{}{name}', '{}example.org.', ['{}']],
    ['a\n{name}\r\n\tb', 'a example.org. \tb', []]
  ])('of %j no more is one than in CoreDNS', (format, line, unknown) => {
    const compiled = compileFormat(format)
    expect([compiled.line(NAMED, SENT), compiled.unknown]).toEqual([line, unknown])
  })
})

describe('placeholders of ours say where an answer comes from', () => {
  test.each<[string, string, string]>([
    ['an upstream', 'query.reply({ origin: { kind: "upstream", upstream: "192.0.2.53:53" } })', '192.0.2.53:53 192.0.2.53:53 - -'],
    ['the cache', '(query.set({ name: "cache/hit" }, true), query.reply({}))', '- - hit true'],
    ['no cache', '(query.set({ name: "cache/hit" }, false), query.reply({}))', '- - miss false'],
    ['nowhere', 'query.reply({})', '- - - -'],
    [
      'something strange',
      '(query.set({ name: "cache/hit" }, ""), query.reply({ origin: { kind: "x", upstream: "a\\nb" } }))',
      'a-b a-b miss -'
    ],
    ['nobody, as it was dropped', 'Symbol.for("skein.drop")', '- - - -']
  ])('%s', async (_title, reply, text) => {
    const format = '{upstream} {/forward/upstream} {cache} {/cache/hit}'
    expect(await linesOf(`log "${format}"\n  ${plugin(`(query) => ${reply}`)}`, 'example.org. A')).toEqual([`[INFO] ${text}`])
  })

  test.each<[string, string]>([
    ['"a b\\n\\u00e9"', 'a-b-'],
    ['12.5', '12.5'],
    ['{ a: 1 }', '-'],
    ['undefined', '-']
  ])('a fact %s by its name', async (value, text) => {
    const setting = plugin(`(query) => { query.set({ name: 'mine/x' }, ${value}); return query.reply({}) }`)
    expect(await linesOf(`log "{/mine/x}{/mine/y}"\n  ${setting}`, 'example.org. A')).toEqual([`[INFO] ${text}-`])
  })

  test('the layer that answered, where it is told', () => {
    const { line } = compileFormat('{layer}')
    expect([{}, { layer: 'forward' }, { layer: '' }].map((sent) => line(NAMED, sent as Sent))).toEqual(['-', 'forward', '-'])
  })

  test('a hit of the cache itself', async () => {
    const stored = plugin('(query) => query.reply({ aa: true, answer: [{ owner: query.qname, type: "A", ttl: 60, rdata: "192.0.2.7" }] })')
    const lines = await linesOf(`log "{rcode} {why} {cache}"\n  cache\n  ${stored}`, ['a.example. A', 'a.example. A'])
    expect(lines).toEqual(['[INFO] NOERROR - -', '[INFO] NOERROR cached hit'])
  })
})

describe('a duration is in seconds, as Go writes it', () => {
  test.each([
    [0, '0'],
    [0.05, '0.00005'],
    [0.000001, '0.000000001'],
    [0.0000001, '0'],
    [37.990251, '0.037990251'],
    [1000, '1'],
    [10_000, '10'],
    [1234.5, '1.2345'],
    [3_600_000_000, '3600000']
  ])('%d ms are %s s', (milliseconds, text) => {
    expect(seconds(milliseconds)).toBe(text)
  })
})

describe('flags are those of the header as it was sent', () => {
  test.each<[number, string]>([
    [0x8000, 'qr'],
    [0x87b0, 'qr,aa,tc,rd,ra,ad,cd'],
    [0xffff, 'qr,aa,tc,rd,ra,z,ad,cd'],
    [0x0400, 'aa'],
    [0xf843, 'qr,z'],
    [0, '']
  ])('%i: %s', (flags, text) => {
    expect(compileFormat('{>rflags}').line(NAMED, { reply: {}, flags } as Sent)).toBe(text)
  })
})
