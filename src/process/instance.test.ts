import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ProcessServices, Stores } from '../chain/scope.js'
import { parseCorefile } from '../corefile/parser.js'
import { requestOctets, serverOf, TestClock, TestLog, TestSlot } from '../testing.js'
import { buildInstance } from './instance.js'
import { Sharing } from './shares.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-instance-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')

const WORDS = `{ about: '', args: [{ name: 'WORDS', type: 'text', rest: true, optional: true }] }`

/** Installs a plugin whose setup has this body. */
function install(name: string, body: string): void {
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(
    join(at, 'index.js'),
    `export default { name: '${name}', api: 1, schema: ${WORDS}, setup({ directive }, host) { ${body} } }`
  )
}

install('boom', 'return { handle() { throw new Error("boom") } }')
install('inner', 'return { handle: (query) => host.resolve(query.ask(directive.args[0], "A")) }')
install(
  'settles',
  'return { handle: async (query) => { const reply = await host.resolve(query.ask("x.inner.", "A")); return query.reply({ rcode: reply.rcode }) } }'
)
install('paths', 'host.log.info(host.resolvePath("data")); return {}')
install(
  'life',
  'const say = (what) => host.log.info(what + " " + directive.args[0]); return { start() { say("start"); if (directive.args[1]) throw new Error("no") }, stop: () => say("stop") }'
)

/** An error has a stack, which shows the plugin's file; most else has none. */
const fault = (name: string, text: string, isPlaced: boolean): string =>
  isPlaced ? `example.org. A: the plugin ${name} failed: ${text} (at index.js:1)` : `example.org. A: a plugin failed: ${text}`

describe('whatever a plugin throws is SERVFAIL and one line', () => {
  test.each<[string, string, 'placed'?]>([
    ['new Error("boom")', 'Error: boom', 'placed'],
    ['new Error("one\\ntwo\\u0000\\u001b[31mthree\\u2028four\\u0085five")', 'Error: one two [31mthree four five', 'placed'],
    ['"text"', 'text'],
    ['undefined', 'undefined'],
    ['Symbol("odd")', 'Symbol(odd)'],
    ['Object.create(null)', 'something without a text'],
    ['{ toString() { throw new Error("worse") } }', 'something without a text'],
    ['Object.defineProperty(new Error(), "message", { get() { throw new Error("worse") } })', 'something without a text'],
    ['Object.defineProperty(new Error("boom"), "stack", { get() { throw new Error("worse") } })', 'Error: boom'],
    ['new Proxy({}, { getPrototypeOf() { throw new Error("worse") } })', 'something without a text']
  ])('%s', async (thrown, text, placed) => {
    const name = `throws-${thrown.length}`
    install(name, `return { handle() { throw ${thrown} } }`)
    const server = await serverOf(`. {\n  ${name}\n}`, { file })
    let rcode: number | undefined
    // What comes out of here would end the process.
    new TestSlot(requestOctets('example.org. A'), (reply) => (rcode = reply![3]! & 0xf)).giveTo(server.instance.endpoints[0]!.receive)
    expect(rcode).toBe(2)
    expect(server.log.lines).toEqual([`[ERROR] ${fault(name, text, placed !== undefined)}`])
    await server.stop()
  })
})

describe('a look-up of the server for itself', () => {
  const blocks =
    'outer {\n  inner x.b.\n}\nb {\n  inner y.c.\n}\nc {\n  whoami\n}\nloop {\n  inner z.loop.\n}\ninner {\n  boom\n}\nsettles {\n  settles\n}\nnowhere {\n  inner nobody.\n}'

  test.each<[string, string, readonly string[]]>([
    ['is routed anew over all server blocks', 'outer. A', []],
    ['is refused where no block is', 'nowhere. A', []],
    ['goes eight deep at most', 'loop. A', []],
    [
      'that fails is SERVFAIL for who asked, who may go on',
      'settles. A',
      ['[ERROR] x.inner. A: the plugin boom failed: Error: boom (at index.js:1)']
    ]
  ])('%s', async (_title, question, lines) => {
    const server = await serverOf(blocks, { file })
    const { rcode } = await server.ask(question)
    expect(rcode).toBe({ 'outer. A': 'NOERROR', 'nowhere. A': 'REFUSED' }[question] ?? 'SERVFAIL')
    expect(server.log.lines).toEqual(lines)
    await server.stop()
  })
})

function services(stores: Partial<Stores>): { log: TestLog; services: ProcessServices } {
  const log = new TestLog()
  const none: Stores = {
    use: () => undefined as never,
    open: async () => {},
    serve: () => {},
    close: async () => {},
    used: [],
    opened: [],
    ...stores
  }
  return {
    log,
    services: {
      log,
      clock: new TestClock(),
      random: { below: () => 0 },
      metrics: { counter: () => ({ value: 0 }), gauge() {}, collect: () => () => {}, text: async () => '' },
      stores: { lease: () => none },
      shares: new Sharing(),
      version: 'Skein-test'
    }
  }
}

describe('an instance opens the stores before the layers start, and closes them after the last has stopped', () => {
  const events = (log: TestLog): string => log.lines.map((line) => line.replace(/^\[INFO\] (plugin\/life: )?/, '')).join(', ')

  async function life(corefile: string): Promise<string> {
    const { log, services: watched } = services({ open: async () => log.info('open'), close: async () => log.info('close') })
    const instance = await buildInstance(parseCorefile(corefile, file).blocks, { services: watched, file, defaultPort: 53 })
    expect(log.lines).toEqual([])
    try {
      await instance.start()
      await instance.stop()
    } catch (error) {
      log.info((error as Error).message.replace(`${folder}/`, ''))
    }
    return events(log)
  }

  test.each([
    ['all goes well', 'a {\n  life 1\n}\nb {\n  life 2\n}', 'open, start 1, start 2, stop 2, stop 1, close'],
    [
      'one does not start',
      'a {\n  life 1\n}\nb {\n  life 2 fails\n}\nc {\n  life 3\n}',
      'open, start 1, start 2, stop 2, stop 1, close, Corefile:5: life: its plugin failed to start: no (at index.js:1)'
    ]
  ])('when %s', async (_title, corefile, expected) => {
    expect(await life(corefile)).toBe(expected)
  })
})

describe('relative paths hang on', () => {
  test.each([
    [file, join(folder, 'data')],
    ['Corefile', join(process.cwd(), 'data')],
    ['/dev/stdin', join(process.cwd(), 'data')]
  ])('the folder of %s', async (path, expected) => {
    const { log, services: all } = services({})
    // The plugin is seen from the Corefile, too: those without a folder of their own see the working directory's.
    const before = process.cwd()
    process.chdir(folder)
    try {
      await buildInstance(parseCorefile('. {\n  paths\n}', path).blocks, { services: all, file: path, defaultPort: 53 })
    } finally {
      process.chdir(before)
    }
    expect(log.lines).toEqual([`[INFO] plugin/paths: ${expected.replace(before, folder)}`])
  })
})
