import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOf, type TestServer } from 'skein/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-ready-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')

/** What the plugins that a test configures say of themselves, by the word behind the directive. */
const states: Record<string, () => unknown> = {}
Object.assign(globalThis, { readyTestStates: states })

for (const name of ['waits', 'alpha']) {
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(
    join(at, 'index.js'),
    `export default { name: '${name}', api: 1, schema: { about: '', args: [{ name: 'WORD', type: 'text' }] },
      setup: ({ args: [word] }) => ({ ready: () => globalThis.readyTestStates[word]() }) }`
  )
}

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
  for (const word of Object.keys(states)) delete states[word]
})

async function started(corefile: string): Promise<TestServer> {
  const server = await serverOf(corefile, { file })
  servers.push(server)
  return server
}

/** What the first page that the log names says; its text alone where it is status 503. */
function told({ log }: TestServer): Promise<string> {
  const url = /http:\S+\/ready/.exec(log.lines.join('\n'))?.[0] ?? ''
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('end', () => resolve(response.statusCode === 503 ? text : `${response.statusCode} ${text}`))
    })
    asked.once('error', reject)
  })
}

const boom = (): never => {
  throw new Error('boom')
}

describe('the server is ready', () => {
  test.each<[title: string, corefile: string, answers: Record<string, () => unknown>, told: string]>([
    ['where no plugin says anything of it', '. {\n  READY\n  whoami\n}', {}, '200 OK'],
    ['when all are', '. {\n  READY\n  waits a\n}\nb.test {\n  alpha b\n}', { a: () => true, b: () => true }, '200 OK'],
    ['not while one is not', '. {\n  READY\n  waits a\n}', { a: () => 'reads a file' }, 'waits\nwaits: reads a file'],
    [
      'not while one of another server block is not',
      '. {\n  READY\n}\nb.test {\n  waits a\n}',
      { a: () => 'reads a file' },
      'waits\nwaits: reads a file'
    ],
    [
      'not while several are not, each named once',
      '. {\n  READY\n  waits a\n}\nb.test {\n  waits b\n  alpha c\n}',
      { a: () => 'two', b: () => 'one', c: () => 'three' },
      'alpha,waits\nalpha: three\nwaits: one\nwaits: two'
    ],
    ['whose reason is one line', '. {\n  READY\n  waits a\n}', { a: () => 'one\r\ntwo\u0000' }, 'waits\nwaits: one two '],
    ['not where a plugin fails at it', '. {\n  READY\n  waits a\n}', { a: boom }, 'waits\nwaits: it failed: boom']
  ])('%s', async (_title, corefile, answers, expected) => {
    Object.assign(states, answers)
    expect(await told(await started(corefile.replace('READY', 'ready 127.0.0.1:0')))).toBe(expected)
  })

  test.each<[title: string, corefile: string, again: boolean]>([
    ['once and for all by itself', '. {\n  ready 127.0.0.1:0\n  waits a\n}', false],
    ['once and for all with until-ready', '. {\n  ready 127.0.0.1:0 {\n    monitor until-ready\n  }\n  waits a\n}', false],
    ['as long as all are with continuously', '. {\n  ready 127.0.0.1:0 {\n    monitor continuously\n  }\n  waits a\n}', true],
    [
      'as long as all are where another block with the address says so',
      '. {\n  ready 127.0.0.1:0\n  waits a\n}\nb.test {\n  ready localhost:0 {\n    monitor continuously\n  }\n}',
      true
    ]
  ])('%s', async (_title, corefile, again) => {
    let asked = 0
    let answer: true | string = 'not yet'
    states.a = () => {
      asked++
      return answer
    }
    const server = await started(corefile)
    const no = 'waits\nwaits: not yet'
    expect([await told(server), await told(server)]).toEqual([no, no])
    answer = true
    expect(await told(server)).toBe('200 OK')
    answer = 'not yet'
    expect(await told(server)).toBe(again ? no : '200 OK')
    expect(asked).toBe(again ? 4 : 3)
  })

  test('not once it is told to stop, while it still answers', async () => {
    const server = await started('. {\n  ready 127.0.0.1:0\n  whoami\n}')
    expect(await told(server)).toBe('200 OK')
    await server.instance.drain()
    expect(await told(server)).toBe('Shutting down')
    expect((await server.ask('example.org. A')).rcode).toBe('NOERROR')
  })

  test('which nobody can ask when it has stopped', async () => {
    const server = await started('. {\n  ready 127.0.0.1:0\n}')
    await servers.pop()!.stop()
    await expect(told(server)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('where it cannot listen there is a line in the log, and DNS is served', () => {
  test('on a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const server = await started(`. {\n  ready 127.0.0.1:${port}\n  whoami\n}`)
    expect(server.log.lines).toEqual([
      `[ERROR] plugin/ready: cannot listen on 127.0.0.1:${port}, so nobody learns whether the server is ready: the port is in use`
    ])
    expect((await server.ask('example.org. A')).rcode).toBe('NOERROR')
    await server.instance.drain()
    taken.close()
  })

  test('on an address that is not ours', async () => {
    const server = await started('. {\n  ready 192.0.2.1:8181\n  whoami\n}')
    expect(server.log.lines).toEqual([expect.stringContaining('cannot listen on 192.0.2.1:8181')])
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ...['8181', 'localhost', ':99999', ''].map((address) => [
      `ready "${address}"`,
      `2: ready: expected an address with a port such as :8181, not "${address}"`
    ]),
    ['ready {\n    monitor always\n  }', '3: ready: monitor: expected one of until-ready, continuously, not "always"'],
    ['ready {\n    monitor\n  }', '3: ready: monitor: expected HOW: one of until-ready, continuously'],
    ['ready {\n    plugins kubernetes\n  }', '3: ready: unknown option "plugins", expected one of monitor'],
    ['ready\n  ready', '3: ready: may stand only once in a server block, and stands in line 2 already'],
    ['ready :53', '2: ready: ready is to listen on 0.0.0.0:53, where DNS is, expected another port']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`, { file: 'Corefile' })).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: `Corefile:${message}`
    })
  })
})
