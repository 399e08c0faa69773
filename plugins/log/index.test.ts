import { type AskOptions, serverOf, TestClock } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { file, plugin } from './answering-plugin.testing.js'

/** What is logged of one question, or several, to a server with these lines in its block. */
async function linesOf(block: string, questions: string | readonly string[], options: AskOptions = {}): Promise<readonly string[]> {
  const server = await serverOf(`. {\n  ${block}\n}`, { file })
  for (const question of [questions].flat()) await server.ask(question, options).catch(() => {})
  await server.stop()
  return server.log.lines
}

describe('a query is one line, in CoreDNS’s common format where no other is named', () => {
  test.each<[string, string, AskOptions, string]>([
    [
      'of a plain question',
      'WwW.Example.org. A',
      { id: 4711 },
      '192.0.2.1:4711 - 4711 "A IN www.example.org. udp 33 false 512" NOERROR qr,aa,rd 73 0s'
    ],
    [
      'with EDNS and DO',
      'example.org. AAAA',
      { edns: 1232, dnssecOk: true },
      '192.0.2.1:4711 - 1 "AAAA IN example.org. udp 40 true 1232" NOERROR qr,aa,rd 80 0s'
    ],
    [
      'with a size that is too small',
      'example.org. AAAA',
      { edns: 100 },
      '192.0.2.1:4711 - 1 "AAAA IN example.org. udp 40 false 512" NOERROR qr,aa,rd 80 0s'
    ],
    [
      'over TCP from IPv6, which has room whatever the size',
      '. NS',
      { rd: false, edns: 1232, client: { address: '2001:db8::1', port: 9, transport: 'tcp' } },
      '[2001:db8::1]:9 - 1 "NS IN . tcp 28 false 65535" NOERROR qr,aa 78 0s'
    ],
    [
      'of another class',
      'version.bind. TXT CH',
      { flags: 0x10 },
      '192.0.2.1:4711 - 1 "TXT CH version.bind. udp 30 false 512" REFUSED qr,rd,cd 30 0s'
    ],
    ['of numbers', 'a. TYPE65280 CLASS42', {}, '192.0.2.1:4711 - 1 "TYPE65280 CLASS42 a. udp 19 false 512" REFUSED qr,rd 19 0s']
  ])('%s', async (_title, question, options, line) => {
    for (const log of ['log', 'log .', 'log . {common}', 'log {common}'])
      expect(await linesOf(`${log}\n  whoami`, question, options)).toEqual([`[INFO] ${line}`])
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
    const names = Array.from({ length: 256 }, (_, octet) => `a\\${String(octet).padStart(3, '0')}b. A`)
    const lines = await linesOf('log\n  whoami', names)
    expect(lines).toHaveLength(256)
    for (const line of lines)
      expect(line).toMatch(/^\[INFO\] 192\.0\.2\.1:4711 - 1 "A IN a[!-~]{1,4}b\. udp 21 false 512" NOERROR [^"]+ 0s$/)
  })

  test('that says how long the answer took', async () => {
    const clock = new TestClock()
    const slow = plugin('async (query) => { await new Promise((resolve) => host.clock.after(1234, resolve)); return query.reply({}) }')
    const server = await serverOf(`. {\n  log\n  ${slow}\n}`, { file, clock })
    const asked = server.ask('example.org. A')
    clock.advance(2000)
    await asked
    expect(server.log.lines).toEqual([expect.stringMatching(/ NOERROR qr,rd 29 2s$/)])
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
    ['an rcode that needs EDNS, to a client without', '(query) => query.reply({ rcode: "BADVERS" })', 'SERVFAIL qr,rd 29 -'],
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
    const lines = await linesOf(`log "{rcode} {>rflags} {rsize} {why}"\n  ${plugin(handle)}`, 'example.org. A')
    expect(lines.filter((line) => line.startsWith('[INFO]'))).toEqual([`[INFO] ${outcome}`])
    // The throw still reaches the chain, which tells of it.
    expect(lines.filter((line) => line.startsWith('[ERROR]'))).toHaveLength(outcome.includes('fault') ? 1 : 0)
  })

  test('together with `errors` a throw is one line of each', async () => {
    const lines = await linesOf(`log\n  errors\n  ${plugin('() => { throw new Error("boom") }')}`, 'example.org. A')
    expect(lines).toEqual(['[ERROR] plugin/errors: 2 example.org. A: boom', expect.stringMatching(/" SERVFAIL qr,rd 29 0s$/)])
  })
})

describe('not every query is logged', () => {
  test.each<[string, string, boolean]>([
    ['log example.org example.net', 'example.org. A', true],
    ['log example.org example.net', 'www.Example.NET. A', true],
    ['log example.org example.net {common}', 'www.Example.NET. A', true],
    ['log example.org', 'xexample.org. A', false],
    ['log example.org {common}', 'org. A', false],
    ['log .', 'org. A', true],
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

  test('the first `log` that is for a name decides of it, as in CoreDNS', async () => {
    const logs = ['log a.example b.example "first {name}"', 'log b.example {\n    class error\n  }', 'log example "last {name}"']
    const lines = await linesOf([...logs, 'whoami'].join('\n  '), ['x.a.example. A', 'b.example. A', 'c.example. A', 'example.org. A'])
    expect(lines).toEqual([
      '[WARNING] plugin/log: logs nothing: a log before it in the server block is for all its names',
      '[INFO] first x.a.example.',
      '[INFO] first b.example.',
      '[INFO] last c.example.'
    ])
  })
})

describe('a word that does not mean what it seems to is told of', () => {
  test.each<[string, string, number]>([
    ['log stdout', 'stdout is not taken for a name, and can go: logs never go elsewhere', 1],
    ['log . "{when} {name}"', '"{when}" is no placeholder, and stands in lines as it is', 1],
    ['log . {common} {why}', '"{common}" is taken for a name, as a format is the last word: put one with spaces in quotes', 1]
  ])('%s', async (log, warning, logged) => {
    const [first, ...lines] = await linesOf(`${log}\n  whoami`, 'example.org. A')
    expect(first).toBe(`[WARNING] plugin/log: ${warning}`)
    expect(lines).toHaveLength(logged)
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['log a..b', 'Corefile:2: log: expected a domain name, not "a..b": an empty label in the name "a..b"'],
    ['log ""', 'Corefile:2: log: expected a domain name, not "": an empty name; the root is "."'],
    ['log {\n    class\n  }', 'Corefile:3: log: class: expected CLASSES…: one of success, denial, error, all'],
    ['log {\n    class nxdomain\n  }', 'Corefile:3: log: class: expected one of success, denial, error, all, not "nxdomain"'],
    [
      'log {\n    class sucess\n  }',
      'Corefile:3: log: class: expected one of success, denial, error, all, not "sucess": did you mean success?'
    ],
    ['log {\n    slow 5\n  }', 'Corefile:3: log: slow: expected a duration such as 30s or 5m, not "5"'],
    ['log {\n    slow\n  }', 'Corefile:3: log: slow: expected DURATION: a duration such as 30s or 5m'],
    ['log {\n    sample 0\n  }', 'Corefile:3: log: sample: expected a whole number from 1 to 1000000000, not "0"'],
    ['log {\n    sample 5\n    sample 6\n  }', 'Corefile:4: log: sample: stands in line 3 already, expected it once'],
    ['log {\n    json on\n  }', 'Corefile:3: log: json: expected no argument, not "on"'],
    ['log {\n    format short\n  }', 'Corefile:3: log: unknown option "format", expected one of class, json, errors, slow, sample'],
    ['log {\n    clas error\n  }', 'Corefile:3: log: unknown option "clas", did you mean class?']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})

describe('{layer} is the directive of the plugin that answered', () => {
  const services = { '/skydns/test/skydns/web': { host: '10.0.0.1' }, '/skydns/test/skydns/alias': { host: 'outside.example' } }

  test.each<[question: string, lines: string[]]>([
    ['web.skydns.test. A', ['web.skydns.test. etcd']],
    ['no.skydns.test. A', ['no.skydns.test. etcd']],
    // What is looked up meanwhile is somebody else's.
    ['alias.skydns.test. A', ['alias.skydns.test. etcd']],
    ['outside.example. A', ['outside.example. whoami']],
    ['version.bind. TXT CH', ['version.bind. -']]
  ])('%s', async (question, lines) => {
    const corefile = `. {\n  log . "{name} {layer}"\n  loadbalance\n  etcd skydns.test {\n    store ./data\n  }\n  whoami\n}`
    const server = await serverOf(corefile, { services })
    await server.ask(question)
    await server.stop()
    expect(server.log.lines).toEqual(lines.map((line) => `[INFO] ${line}`))
  })

  test('the cache, where the answer was kept', async () => {
    const server = await serverOf(`. {\n  log . "{layer}"\n  cache\n  etcd skydns.test {\n    store ./data\n  }\n}`, { services })
    for (let asked = 0; asked < 2; asked++) await server.ask('web.skydns.test. A')
    await server.stop()
    expect(server.log.lines).toEqual(['[INFO] etcd', '[INFO] cache'])
  })
})
