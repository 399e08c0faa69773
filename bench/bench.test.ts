import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { EmbeddedStore } from '../src/store/embedded.js'
import { openTables, readRevision, type Table } from '../src/store/tables.js'
import { addressRecord, replyTo, requestOctets } from '../src/testing.js'
import { readLoad } from '../test/dnsperf.js'
import { temporaryFolder } from '../test/processes.js'
import { CASES } from './cases.js'
import { placed, readCorefile } from './corefiles.js'
import { fillStore } from './fill-store.js'
import { readLatency, type Taken } from './load.js'
import { figuresOf, type Result } from './measure.js'
import { type Options, readOptions, UsageError } from './options.js'
import { PEERS } from './peers.js'
import { differenceOf } from './same-answer.js'
import { absentQuestions, outsideQuestions, recordsOf, serviceEntries, serviceQuestions } from './services.js'
import { alternated, median, medianOfKnown } from './statistics.js'
import { HEAD, notesOf, rowsOf, signingTable, table } from './table.js'
import { cpuOf, memoryOf, readMemory, readSchedstat, readStat } from './usage.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())

describe('the command line', () => {
  test.each<[string, string[], Partial<Options>]>([
    [
      'nothing: all cases, as fast as they go and at two rates',
      [],
      { loads: ['max', 10_000, 30_000], runs: 5, seconds: 4, peers: undefined }
    ],
    ['cases', ['--case', 'tcp', '--case', 'start', '--case', 'signing'], { cases: ['tcp', 'start', 'signing'] }],
    ['a peer of ours', ['--peer', 'knot'], { peers: [{ name: 'knot' }] }],
    ['a command', ['--peer', 'old=node a,b.js -x=1,53'], { peers: [{ name: 'old', given: { command: 'node a,b.js -x=1', port: 53 } }] }],
    ['rates', ['--rate', '500', '--rate', 'max', '--rate', '80%'], { loads: [500, 'max', '80%'] }],
    ['numbers of services', ['--services', '1000', '--services', '50000'], { services: [1000, 50_000] }],
    ['a fraction of a second', ['--seconds', '0.5'], { seconds: 0.5 }],
    ['another Node and another line', ['--node', '/a/node', '--with', 'bufsize 512'], { nodes: ['/a/node'], lines: ['bufsize 512'] }]
  ])('%s', (_, words, expected) => {
    expect(readOptions(words)).toMatchObject(expected)
  })

  test.each([
    [['--case', 'cached'], '--case: expected one of cached-a, '],
    [['--peer', 'bind'], '--peer: expected one of floor, unbound, '],
    [['--peer', 'old=node'], '--peer: expected NAME=COMMAND,PORT, not "old=node"'],
    [['--rate', 'fast'], '--rate: expected max, queries a second, or a percentage from 1% to 99%, not "fast"'],
    [['--rate', '80%', '--rate', 'max'], '--rate 80%: expected --rate max before it'],
    [['--rate', 'max', '--rate', '100%'], '--rate: expected max, queries a second, or a percentage from 1% to 99%, not "100%"'],
    [['--runs', '1.5'], '--runs: expected a whole number above 0, not "1.5"'],
    [['--seconds', '0'], '--seconds: expected a number above 0, not "0"'],
    [['--speed'], "Unknown option '--speed'"]
  ])('%j is refused', (words, text) => {
    const read = (): Options => readOptions(words)
    expect(read).toThrow(UsageError)
    expect(read).toThrow(text)
  })
})

describe('statistics', () => {
  test.each([
    [[3], 3],
    [[9, 1, 5], 5],
    [[10, 2, 30, 4], 7]
  ])('the median of %j is %d', (numbers, expected) => {
    expect(median(numbers)).toBe(expected)
  })

  test('there is no median of nothing, and what is not known does not count', () => {
    expect(() => median([])).toThrow(RangeError)
    expect(medianOfKnown([undefined, 4, undefined, 6])).toBe(5)
    expect(medianOfKnown([undefined])).toBeUndefined()
  })

  test('the order of the servers alternates', () => {
    expect([0, 1, 2].map((round) => alternated(['a', 'b', 'c'], round).join(''))).toEqual(['abc', 'cba', 'abc'])
  })

  const taken = (cpu: number | undefined, more: Partial<Taken> = {}): Taken => {
    return { cpu, perSecond: 100, lost: 0, rss: 10, rssAnon: 5, latency: undefined, ...more }
  }

  test('figures are medians; losses add up, and memory is the most that was seen', () => {
    const rounds = [taken(8, { lost: 2 }), taken(4, { rss: 12, perSecond: 90 }), taken(9, { lost: 1, perSecond: 300 })]
    expect(figuresOf('max', rounds, [])).toMatchObject({
      load: 'max',
      cpu: 8,
      toFloor: undefined,
      perSecond: 100,
      lost: 3,
      rss: 12,
      rssAnon: 5
    })
  })

  test('the ratio to the floor is taken in each round, and one round without answers does not count', () => {
    const floors = [taken(4), taken(2), taken(1)]
    expect(figuresOf(1000, [taken(8), taken(2), taken(3)], floors).toFloor).toBe(2)
    expect(figuresOf(1000, [taken(8), taken(undefined), taken(4)], floors)).toMatchObject({ cpu: 6, toFloor: 3 })
  })

  test('what DO costs is the ratio in each round, and is told of whoever is asked both ways', () => {
    expect(figuresOf('max', [taken(6), taken(9)], [], [taken(4), taken(6)]).toPlain).toBe(1.5)
    expect(figuresOf('max', [taken(6)], [])).not.toHaveProperty('toPlain')
  })

  test('latencies of several rounds are medians, each by itself', () => {
    const latency = (p50: number, p99: number) => ({
      rate: 10,
      sent: 5,
      answered: 5,
      unsent: 0,
      p50,
      p90: 1,
      p99,
      p999: 1,
      max: 1,
      late: 0
    })
    const rounds = [latency(1, 9), latency(2, 8), latency(3, 100)].map((each) => taken(1, { latency: each }))
    expect(figuresOf(10, rounds, []).latency).toEqual({ ...latency(2, 9) })
  })
})

describe('what other programs and the kernel print', () => {
  const printed = `Statistics:

  Queries sent:         2000
  Queries completed:    1990 (99.50%)
  Queries lost:         10 (0.50%)

  Response codes:       NOERROR 1990 (100.00%)
  Average packet size:  request 44, response 60
  Run time (s):         2.000000
  Queries per second:   995.5
  Average Latency (s):  0.000131 (min 0.000026, max 0.003)
`

  test('figures of dnsperf', () => {
    expect(readLoad(printed)).toEqual({
      sent: 2000,
      completed: 1990,
      lost: 10,
      interrupted: 0,
      rcodes: 'NOERROR 1990 (100.00%)',
      perSecond: 995.5,
      longestMs: 3
    })
    expect(readLoad(`${printed}  Queries interrupted:  7 (0.3%)\n`).interrupted).toBe(7)
    expect(() => readLoad('Error: no such file\n')).toThrow('dnsperf says nothing of Queries sent:\nError: no such file')
  })

  test('figures of the client for latency', () => {
    expect(readLatency('{"sent":2,"answered":1,"p99":1.5}\n')).toEqual({ sent: 2, answered: 1, p99: 1.5 })
    expect(() => readLatency('connect: refused\n')).toThrow('the client for latency prints no figures: connect: refused')
  })

  test('time and memory of a process', () => {
    expect(readSchedstat('2500 99 3\n')).toBe(2.5)
    expect(readSchedstat('0 0 0\n')).toBeUndefined()
    const stat = '7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 11 22 33 44 20 0 1 0 5'
    expect(readStat(stat)).toEqual({ own: 330_000, ended: 770_000 })
    expect(readMemory('Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t     512 kB\n')).toEqual({ rss: 2, rssAnon: 0.5 })
  })

  test.runIf(process.platform === 'linux')('this process has used some', () => {
    const before = cpuOf(process.pid)
    for (const end = performance.now() + 50; performance.now() < end; );
    expect(cpuOf(process.pid)).toBeGreaterThan(before)
    expect(memoryOf(process.pid).rssAnon).toBeGreaterThan(1)
    expect(memoryOf(process.pid).rss).toBeGreaterThan(memoryOf(process.pid).rssAnon)
  })
})

describe('tables', () => {
  const figures = { cpuOfRounds: [], perSecond: 25_000.4, lost: 1, rss: 80.6, rssAnon: 30 }
  const common = { case: 'service-a', corefile: 'bench/Corefile.no-cache', services: 1000 }
  const latency = { rate: 10, sent: 5, answered: 5, unsent: 0, p50: 51.4, p90: 60, p99: 99.6, p999: 120, max: 200, late: 3 }
  const results: Result[] = [
    {
      ...common,
      server: 'skein',
      loads: [
        { ...figures, load: 'max', cpu: 12.34, toFloor: 2.468, latency },
        { ...figures, load: 10_000, cpu: undefined, toFloor: undefined, latency: undefined }
      ]
    },
    { ...common, server: 'knot', note: 'could not be started', loads: [] }
  ]

  test('each load has the servers, and a server without figures stands last', () => {
    expect(rowsOf('service-a 1000', results)).toEqual([
      ['service-a 1000', 'max', 'skein', '12.3', '2.47', '25000', '1', '81', '30', '51', '100', '3'],
      ['service-a 1000', '10000', 'skein', '–', '–', '25000', '1', '81', '30', '–', '–', '–'],
      ['service-a 1000', '–', 'knot', '–']
    ])
    expect(rowsOf('service-a', [])).toEqual([])
  })

  test('another Corefile and what is to be known of a server stand below', () => {
    expect(notesOf(results)).toEqual(['service-a: Skein has bench/Corefile.no-cache', 'service-a: knot could not be started'])
    expect(notesOf([{ ...results[0]!, corefile: 'Corefile.example' }])).toEqual([])
  })

  test('what DO costs stands below, for each load', () => {
    const loads = results[0]!.loads.map((each) => ({ ...each, toPlain: 1.234 }))
    const lines = notesOf([{ ...results[0]!, case: 'cached-signed', corefile: 'Corefile.example', loads }])
    expect(lines).toEqual(['max', '10000'].map((load) => `cached-signed ${load}: skein takes 1.23 times what it takes without DO`))
  })

  test('the table of signing has a dash where nothing is signed', () => {
    const cached = {
      case: 'signing',
      algorithm: '13 X',
      what: 'cached',
      signatures: 0,
      signed: 2.74,
      unsigned: 2.5,
      toUnsigned: 1.096
    } as const
    const all = { ...cached, signatures: 1, raw: 50, toRaw: 1.5, addedToRaw: 1.25, toBoth: 1.1 }
    const rows = signingTable([cached, all].map((row) => ({ server: 'skein', ...row })))
      .split('\n')
      .slice(2)
    expect(
      rows.map((row) =>
        row
          .split('|')
          .slice(4, -1)
          .map((cell) => cell.trim())
      )
    ).toEqual([
      ['0.00', '–', '2.7', '2.5', '–', '–', '–', '1.10'],
      ['1.00', '50.0', '2.7', '2.5', '1.50', '1.25', '1.10', '1.10']
    ])
  })

  test('columns are as wide as what is in them', () => {
    expect(table(['a', 'bcd'], [['long'], ['x', 'y']])).toBe('| a    | bcd |\n| ---- | --- |\n| long |     |\n| x    | y   |')
    const widths = table(HEAD, rowsOf('service-a 1000', results))
      .split('\n')
      .map((line) => line.length)
    expect(new Set(widths).size).toBe(1)
  })
})

describe('what is asked and served', () => {
  test.each(CASES.map((each) => [each.name, each] as const))('%s asks different questions, well-formed ones', (_, of) => {
    const questions = of.questions(2000)
    expect(questions.length).toBeGreaterThan(0)
    expect(new Set(questions).size).toBe(questions.length)
    expect(questions.filter((line) => !/^[a-z0-9.]+ (A|SRV)$/.test(line))).toEqual([])
  })

  test('what is asked of the zone is there, or not, as its kind says', () => {
    const names = new Set(Array.from(recordsOf(5000), ({ owner }) => `${owner}.skydns.local`))
    const known = (lines: string[]) => lines.filter((line) => names.has(line.split(' ')[0]!)).length
    expect(known(serviceQuestions(5000, 300))).toBe(300)
    expect(known(serviceQuestions(5000, 9000))).toBe(5000)
    expect(known(absentQuestions(5000, 300))).toBe(0)
    expect(outsideQuestions(2)).toEqual(['h0000000.forward.test A', 'h0000001.forward.test A'])
  })

  test('a store that was filled for the bench is what the store itself would have written', async () => {
    const [filled, applied] = [join(folder.path, 'filled'), join(folder.path, 'applied')]
    await fillStore(filled, 2100)
    const store = await EmbeddedStore.open(applied)
    await store.apply(Array.from(serviceEntries(2100), ({ key, value }) => ({ op: 'put', key, value: Buffer.from(value) })))
    await store.close()
    const written = await tablesOf(filled)
    expect(written).toEqual(await tablesOf(applied))
    expect(written.entries.length).toBe(2116)
  })

  const places = { port: 5300, metricsPort: 5301, apiPort: 5302, upstreamPort: 5303 }

  test('a Corefile has the places of the bench, and nothing else is changed', () => {
    const example = readCorefile(undefined).split('\n')
    const changed = placed(readCorefile(undefined), { ...places, line: 'bufsize 512' }).split('\n')
    expect(changed.filter((line) => !example.includes(line))).toEqual([
      '.:5300 {',
      '  bufsize 512',
      '  prometheus 127.0.0.1:5301',
      '    api 127.0.0.1:5302',
      '  forward . 127.0.0.1:5303 {'
    ])
    expect(example.filter((line) => !changed.includes(line))).toEqual(['.:1053 {', '  prometheus', '  forward . /etc/resolv.conf {'])
    expect(() => placed('.:1053 {\n}\n', places)).toThrow('has no line')
  })

  test.each([
    ['Corefile.no-cache', 'the cache'],
    ['Corefile.cached-100k', 'the cache'],
    ['Corefile.pauses', 'the cache'],
    ['Corefile.signing', 'the cache and how it is signed']
  ])('%s is the example but for %s', (name) => {
    const signed = name === 'Corefile.signing' ? /^ {2}dnssec skydns\.local \{[^}]*\}\n/m : ''
    const lines = (text: string) =>
      text
        .replace(/^ {2}cache( \{[^}]*\})?\n/m, '')
        .replace(signed, '')
        .split('\n')
        .filter((line) => line.trim() !== '' && !line.trim().startsWith('#'))
    expect(lines(readCorefile(name))).toEqual(lines(readCorefile(undefined)))
  })

  test.each(PEERS.map((peer) => [peer.name, peer] as const))('the configuration of %s is filled', (name, peer) => {
    const own = join(folder.path, name)
    mkdirSync(own)
    const args = peer.prepare({ folder: own, port: 5300, upstreamPort: 5303, services: 3 })
    const texts = readdirSync(own, { withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? readFileSync(join(own, entry.name), 'utf8') : []
    )
    expect(texts.length).toBeGreaterThan(1)
    expect(texts.join('\n').match(/@[A-Z]+@/g)).toBeNull()
    expect(texts.filter((text) => text.includes('s0000002.f0000') && text.includes('10.0.0.2'))).toHaveLength(1)
    expect(args.join(' ')).toContain(own)
  })
})

describe('another server says the same as Skein, or what is different', () => {
  const request = Buffer.from(requestOctets('a.skydns.local. A'))
  const [one, other] = [addressRecord('10.0.0.1', 60), addressRecord('10.0.0.2', 60)]
  const skein = replyTo(request, { answer: [one, other] })

  test.each<[string, Parameters<typeof replyTo>[1], string | undefined]>([
    ['the same in another order, with other TTLs', { answer: [addressRecord('10.0.0.2', 5), one] }, undefined],
    ['another rcode', { flags: 0x8183, answer: [] }, 'says NXDOMAIN where Skein says NOERROR'],
    ['fewer records', { answer: [one] }, 'has 1 answers where Skein has 2'],
    ['another record', { answer: [one, addressRecord('10.0.0.3')] }, 'says a.skydns.local. a 10.0.0.3, which Skein does not'],
    [
      'more beside the answer',
      { answer: [one, other], additional: [one] },
      "has a number of records in its additional section (1) that is not Skein's (0)"
    ]
  ])('%s', (_, options, expected) => {
    expect(differenceOf(skein, replyTo(request, options))).toBe(expected)
  })
})

async function tablesOf(store: string) {
  const tables = await openTables(store)
  const lines = (table: Table): string[] =>
    Array.from(table.getRange(), ({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`)
  const { entries, dirs, expiries, below } = tables
  const all = { entries: lines(entries), dirs: lines(dirs), expiries: lines(expiries), below: lines(below), revision: readRevision(tables) }
  await tables.root.close()
  return all
}
