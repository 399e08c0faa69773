/** `skein explain` as an operator calls it: of a running server, and without one. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { etcd, MAIN, skein } from './command.js'
import { freePort, startProcess, temporaryFolder } from './processes.js'

const folder = temporaryFolder()
const env = { XDG_RUNTIME_DIR: join(folder.path, 'run') }
const explain = (...args: string[]) => skein(['explain', ...args], folder.path, { env })
/** Times and sizes are others each time. */
const steady = (text: string): string => text.replace(/\d+(\.\d+)? ms/g, 'N ms').replace(/127\.0\.0\.1:\d+/, '127.0.0.1:PORT')

beforeAll(async () => {
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 })
  const api = await freePort('127.0.0.1')
  writeFileSync(join(folder.path, 'Corefile'), etcd('store ./data', `api 127.0.0.1:${api}`).replace('  etcd', '  log\n  cache\n  etcd'))
  const { code, err } = await skein(['kv', 'put', '/skydns/test/skydns/web', '{"host":"10.0.0.1"}', '--store', 'data'], folder.path)
  expect([code, err]).toEqual([0, ''])
})
afterAll(() => folder.remove())

const MISSED = `web.skydns.test. A of 127.0.0.1, asked at 127.0.0.1:PORT

. in the server block Corefile:1
  cache   passed on, N ms
  etcd    answered: found (the store has it), N ms
          from store, revision 1, read /skydns/test/skydns/web

NOERROR AA RA, 60 octets, in N ms
answer:
  web.skydns.test. 3600 A 10.0.0.1
`

describe('without a server', () => {
  test('the chain of the Corefile is asked, and that is said', async () => {
    const { code, out, err } = await explain('web.skydns.test')
    expect([code, steady(out), err]).toEqual([
      0,
      MISSED,
      'skein: no server runs with Corefile: its chain is set up for this question alone\n'
    ])
  })

  test('nothing is left behind: the store is free, and its keys API was never open', async () => {
    expect((await explain('web.skydns.test', 'A')).code).toBe(0)
    expect((await skein(['kv', 'get', '/skydns/test/skydns/web', '--store', 'data'], folder.path)).out).toContain('10.0.0.1')
  })

  test.each<[args: string[], code: number, err: string]>([
    [[], 2, 'skein: explain: expected NAME [TYPE [CLASS]], such as www.example.org A\n'],
    [['a', 'A', 'IN', 'more'], 2, 'skein: explain: expected NAME TYPE CLASS at most, not "more"\n'],
    [['a', '-quiet'], 2, 'skein: unknown flag -quiet, expected one of -conf, -dns.port, -json, -client, -do, -at, -help\n'],
    [['-conf', 'missing', 'a'], 1, 'skein: cannot read the Corefile missing: there is no such file\n']
  ])('%j', async (args, code, err) => {
    expect(await explain(...args)).toEqual({ code, out: '', err })
  })
})

/** The names of all fields of a JSON value. */
function fieldsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(fieldsOf)]
}

test('a running server is asked what it does, its cache included; its log tells nothing of that', async () => {
  const server = await startProcess(process.execPath, [MAIN, 'run'], { cwd: folder.path, env, ready: /stop: Ctrl-C/ })
  try {
    const [first, second] = [await explain('web.skydns.test', 'A'), await explain('web.skydns.test', 'A', '-json')]
    expect([first.code, steady(first.out), first.err]).toEqual([0, MISSED, ''])
    const page = readFileSync(new URL('../../docs/explain.md', import.meta.url), 'utf8')
    for (const field of new Set(fieldsOf(JSON.parse(second.out)))) expect(page).toContain(`\`${field}\``)
    const told = JSON.parse(second.out) as { pass: { steps: { layer: string; why?: string }[]; behind: string[] } }
    expect([told.pass.steps.map(({ layer, why }) => [layer, why]), told.pass.behind]).toEqual([[['cache', 'cached']], ['etcd']])
    expect(await explain('a', 'A', '-at', '192.0.2.1')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^skein: explain: expected an address that the server listens on, one of 127\.0\.0\.1:\d+, not "192\.0\.2\.1"\n$/
      )
    })
    expect(await explain('a', '-dns.port', 'x')).toMatchObject({ code: 2, out: '' })
    expect(server.output()).not.toContain('web.skydns.test')
  } finally {
    expect(await server.stop()).toBe(0)
  }
})

test('the flags of the command are those of its documentation', async () => {
  const page = readFileSync(new URL('../../docs/explain.md', import.meta.url), 'utf8')
  const { err } = await explain('a', '-nothing')
  const flags = err.match(/-[a-z.]+/g)!.filter((flag) => !['-nothing', '-help'].includes(flag))
  expect(flags).toHaveLength(6)
  for (const flag of flags) expect(page).toContain(`\`${flag}`)
})
