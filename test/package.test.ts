/** A plugin's package beside a configuration in either form: loaded, put in order, run, stopped, and gone. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { readAnswer, requestOctets } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { freePort, startProcess, temporaryFolder } from './processes.js'

const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))
const folder = temporaryFolder()
afterAll(() => folder.remove())

const PACKAGE = 'node_modules/skein-plugin-tally'

/** Counts the questions that come by, and writes the number where it is told when it is stopped. */
const TALLY = `import { writeFileSync } from 'node:fs'
export default {
  name: 'tally', api: 1,
  schema: { about: 'Counts questions.', args: [{ name: 'FILE', type: 'path' }] },
  setup({ args: [file] }, host) {
    let seen = 0
    let timer
    return {
      start() { timer = setInterval(() => {}, 1000) },
      handle(query, next) {
        if (timer === undefined) throw new Error('not started')
        seen++
        return next(query)
      },
      stop() {
        clearInterval(timer)
        writeFileSync(host.resolvePath(file), String(seen))
      }
    }
  }
}`

/** Has an answer that can be cached. */
const ANSWERS = `export default {
  name: 'answers', api: 1,
  setup: () => ({
    handle: (query) => query.reply({ aa: true, answer: [{ owner: query.qname, type: 'A', ttl: 60, rdata: '192.0.2.1' }] })
  })
}`

const COREFILE = `.:PORT {
  bind 127.0.0.1
  cache
  tally ./seen
  plugin ./answers.js
  answers
  ORDER
}
`

/** A folder with the package, the plugin in a file, and a configuration; gives the port. */
async function prepared(name: string, order: string, isToml: boolean): Promise<{ cwd: string; conf: string; port: number }> {
  const cwd = join(folder.path, name)
  mkdirSync(join(cwd, PACKAGE), { recursive: true })
  writeFileSync(join(cwd, PACKAGE, 'package.json'), '{"name":"skein-plugin-tally","type":"module","exports":"./index.js"}')
  writeFileSync(join(cwd, PACKAGE, 'index.js'), TALLY)
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
  writeFileSync(join(cwd, 'answers.js'), ANSWERS)
  const port = await freePort('127.0.0.1')
  writeFileSync(join(cwd, 'Corefile'), COREFILE.replace('PORT', String(port)).replace('ORDER', order))
  if (!isToml) return { cwd, conf: 'Corefile', port }
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'convert'], { cwd })
  expect(stdout).toContain('[[server]]')
  writeFileSync(join(cwd, 'skein.toml'), stdout)
  return { cwd, conf: 'skein.toml', port }
}

describe.each([
  ['Corefile', false],
  ['TOML', true]
])('from a %s', (form, isToml) => {
  test.each([
    ['by itself behind the cache, which answers the second question', '', '1'],
    ['where the operator puts it, before the cache', 'order tally before cache', '2']
  ])('a package stands %s', async (_where, order, seen) => {
    const { cwd, conf, port } = await prepared(`${form}-${seen}`, order, isToml)
    const server = await startProcess(process.execPath, [MAIN, 'run', '-conf', conf], { cwd, ready: /Skein-\d/ })
    const client = await openClient('udp', { address: '127.0.0.1', port })
    for (let id = 1; id <= 2; id++) {
      const { answer } = readAnswer(await client.ask(Buffer.from(requestOctets('example.org. A', { id }))))
      expect(answer).toEqual(['example.org. 60 A 192.0.2.1'])
    }
    client.close()
    expect(await server.stop(), server.output()).toBe(0)
    expect(readFileSync(join(cwd, 'seen'), 'utf8')).toBe(seen)

    rmSync(join(cwd, PACKAGE), { recursive: true })
    const ended = await promisify(execFile)(process.execPath, [MAIN, '-conf', conf], { cwd }).catch((error: { stderr: string }) => error)
    expect(ended.stderr).toMatch(/unknown directive "tally": .*npm install skein-plugin-tally\n$/)
  })
})
