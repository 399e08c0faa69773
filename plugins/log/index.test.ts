import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AskOptions, serverOf, TestClock } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-log-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')

let installed = 0

/** Installs a plugin whose handler is this text; gives its directive. */
function plugin(handle: string): string {
  const name = `fake-${++installed}`
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(
    join(at, 'index.js'),
    `export default { name: '${name}', api: 1, classes: ['*'], setup: (_config, host) => ({ handle: ${handle} }) }`
  )
  return name
}

async function linesOf(block: string, question: string, options: AskOptions = {}): Promise<readonly string[]> {
  const server = await serverOf(`. {\n  ${block}\n}`, { file })
  await server.ask(question, options).catch(() => {})
  await server.stop()
  return server.log.lines
}

describe('a query is one line', () => {
  test.each<[string, string, AskOptions, string]>([
    [
      'of a plain question',
      'WwW.Example.org. A',
      { id: 4711 },
      '192.0.2.1:4711 - 4711 "A IN www.example.org. udp 33 false 512" NOERROR qr,aa,rd 73 whoami'
    ],
    [
      'with EDNS and DO',
      'example.org. AAAA',
      { edns: 1232, dnssecOk: true },
      '192.0.2.1:4711 - 1 "AAAA IN example.org. udp 40 true 1232" NOERROR qr,aa,rd 80 whoami'
    ],
    [
      'over TCP from IPv6',
      '. NS',
      { rd: false, client: { address: '2001:db8::1', port: 9, transport: 'tcp' } },
      '[2001:db8::1]:9 - 1 "NS IN . tcp 17 false 65535" NOERROR qr,aa 67 whoami'
    ],
    [
      'of another class',
      'version.bind. TXT CH',
      { flags: 0x10 },
      '192.0.2.1:4711 - 1 "TXT CH version.bind. udp 30 false 512" REFUSED qr,rd,cd 30 not-served'
    ],
    ['of numbers', 'a. TYPE65280 CLASS42', {}, '192.0.2.1:4711 - 1 "TYPE65280 CLASS42 a. udp 19 false 512" REFUSED qr,rd 19 not-served']
  ])('%s', async (_title, question, options, line) => {
    expect(await linesOf('log\n  whoami', question, options)).toEqual([`[INFO] ${line.replace(/ (\S+)$/, ' 0.000000000s $1')}`])
  })

  test.each<[string, string]>([
    ['a\\010[INFO] b.', 'a\\010[info] b.'],
    ['\\000.', '\\000.'],
    ['a\\"b.', 'a\\034b.'],
    ['\\\\\\".', '\\\\\\034.'],
    ['a\\\\.', 'a\\\\.'],
    ['\\".\\\\\\\\\\"\\".', '\\034.\\\\\\\\\\034\\034.'],
    ['a\\.b\\032\\255.', 'a\\.b\\032\\255.'],
    ['\\226\\128\\168.', '\\226\\128\\168.'],
    ['\\027[31m.', '\\027[31m.']
  ])('and stays one whatever octets the name has: %s', async (name, shown) => {
    const [line, ...more] = await linesOf('log\n  whoami', `${name.replace(/ /g, '\\032')} A`)
    expect(more).toEqual([])
    expect(line!.replace(/ udp \d+ /, ' udp ')).toContain(`"A IN ${shown.replace(/ /g, '\\032')} udp false 512" NOERROR`)
    expect(line).toMatch(/^[ -~]+$/)
    expect(line!.match(/"/g)).toHaveLength(2)
  })

  test('and stays one whatever octet the name has', async () => {
    const server = await serverOf('. {\n  log\n  whoami\n}')
    for (let octet = 0; octet < 256; octet++) await server.ask(`a\\${String(octet).padStart(3, '0')}b. A`)
    await server.stop()
    expect(server.log.lines).toHaveLength(256)
    for (const line of server.log.lines)
      expect(line).toMatch(/^\[INFO\] 192\.0\.2\.1:4711 - 1 "A IN a[!-~]{1,4}b\. udp 21 false 512" NOERROR [^"]+ whoami$/)
  })

  test('that says how long the answer took', async () => {
    const clock = new TestClock()
    const slow = plugin('async (query) => { await new Promise((resolve) => host.clock.after(1234, resolve)); return query.reply({}) }')
    const server = await serverOf(`. {\n  log\n  ${slow}\n}`, { file, clock })
    const asked = server.ask('example.org. A')
    clock.advance(2000)
    await asked
    expect(server.log.lines).toEqual([expect.stringMatching(/ NOERROR qr,rd 29 2\.000000000s -$/)])
    await server.stop()
  })
})

describe('what became of it stands in the line', () => {
  test.each<[string, string, string]>([
    ['a reason', '(query) => query.reply({ ra: true, rcode: "NXDOMAIN", why: "no-such-name" })', 'NXDOMAIN qr,rd,ra 29 no-such-name'],
    ['no reason', '(query) => query.reply({})', 'NOERROR qr,rd 29 -'],
    ['an empty reason', '(query) => query.reply({ why: "" })', 'NOERROR qr,rd 29 -'],
    ['a reason of several lines', '(query) => query.reply({ why: "a b\\n[INFO] c\\u2028d\\u0000" })', 'NOERROR qr,rd 29 a-b-[INFO]-c-d-'],
    ['a reason that is no text', '(query) => query.reply({ why: Object.create(null) })', 'NOERROR qr,rd 29 -'],
    ['SERVFAIL that a plugin gives without a word', '(query) => query.reply({ rcode: "SERVFAIL" })', 'SERVFAIL qr,rd 29 -'],
    [
      'what cannot be written',
      '(query) => query.reply({ answer: [{ owner: "a..b.", type: "A", ttl: 1, rdata: "x" }] })',
      'SERVFAIL qr,rd 29 fault'
    ],
    ['a throw', '() => { throw new Error("boom") }', 'SERVFAIL qr,rd 29 fault'],
    ['a rejection', 'async () => { throw new Error("boom") }', 'SERVFAIL qr,rd 29 fault'],
    ['a forgotten reply', '() => {}', 'SERVFAIL qr,rd 29 fault'],
    ['a forgotten reply, later', 'async () => {}', 'SERVFAIL qr,rd 29 fault'],
    ['no reply of ours', '() => ({})', 'SERVFAIL qr,rd 29 fault'],
    ['a drop', '() => Symbol.for("skein.drop")', '- - 0 dropped'],
    ['a drop, later', 'async () => Symbol.for("skein.drop")', '- - 0 dropped']
  ])('%s', async (_title, handle, outcome) => {
    const lines = await linesOf(`log\n  ${plugin(handle)}`, 'example.org. A')
    expect(lines.filter((line) => line.startsWith('[INFO]'))).toEqual([
      expect.stringContaining(`" ${outcome.replace(/ (\S+)$/, ' 0.000000000s $1')}`)
    ])
    // The throw still reaches the chain, which tells of it.
    expect(lines.filter((line) => line.startsWith('[ERROR]'))).toHaveLength(outcome.includes('fault') ? 1 : 0)
  })

  test('together with `errors` a throw is one line of each', async () => {
    const lines = await linesOf(`log\n  errors\n  ${plugin('() => { throw new Error("boom") }')}`, 'example.org. A')
    expect(lines).toEqual(['[ERROR] plugin/errors: 2 example.org. A: boom', expect.stringMatching(/" SERVFAIL qr,rd 29 .* fault$/)])
  })
})

describe('not every query is logged', () => {
  test.each<[string, string, boolean]>([
    ['log example.org example.net', 'example.org. A', true],
    ['log example.org example.net', 'www.Example.NET. A', true],
    ['log example.org', 'xexample.org. A', false],
    ['log example.org', 'org. A', false],
    ['log .', 'org. A', true],
    ['log stdout', 'org. A', true],
    ['log stdout.', 'org. A', false],
    ['log Bücher.example', 'b\\195\\188cher.example. A', true]
  ])('%s: %s', async (log, question, logged) => {
    expect(await linesOf(`${log}\n  whoami`, question)).toHaveLength(logged ? 1 : 0)
  })

  test('those of a block without `log` are not', async () => {
    const server = await serverOf('a {\n  log\n  whoami\n}\nb {\n  whoami\n}\nc {\n}')
    for (const name of ['a', 'b', 'c', 'd']) await server.ask(`${name}. A`)
    await server.stop()
    expect(server.log.lines).toEqual([expect.stringContaining('"A IN a. ')])
  })

  test('look-ups of the server for itself are not', async () => {
    const asking = plugin('(query) => query.depth === 0 ? host.resolve(query.ask("inner.example.", "A")) : query.reply({})')
    expect(await linesOf(`log\n  ${asking}`, 'outer.example. A')).toEqual([expect.stringContaining('outer.example.')])
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['log . "{remote} {name}"', 'Corefile:2: log: a format of its own is not supported yet, expected names alone'],
    ['log "{remote} {name}"', 'Corefile:2: log: a format of its own is not supported yet, expected names alone'],
    ['log a..b', 'Corefile:2: log: expected a domain name, not "a..b": an empty label in the name "a..b"'],
    ['log ""', 'Corefile:2: log: expected a domain name, not "": an empty name; the root is "."'],
    ['log {\n    class denial\n  }', 'Corefile:3: log: class: is not supported yet'],
    ['log {\n    format short\n  }', 'Corefile:3: log: unknown option "format", expected none'],
    ['log {\n    clas error\n  }', 'Corefile:3: log: unknown option "clas", did you mean class?'],
    ['log\n  log', 'Corefile:3: log: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
