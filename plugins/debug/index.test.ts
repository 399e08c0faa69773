import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOf } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-debug-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')

const tells = join(folder, 'node_modules/skein-plugin-tells')
mkdirSync(tells, { recursive: true })
writeFileSync(join(tells, 'package.json'), '{"type":"module","exports":"./index.js"}')
writeFileSync(
  join(tells, 'index.js'),
  `export default {
    name: 'tells', api: 1,
    setup: (_config, { log }) => ({ start: () => log.debug('start'), handle() { log.debug('asked'); throw new Error('boom\\n[INFO] forged') } })
  }`
)

async function linesOf(corefile: string): Promise<readonly string[]> {
  const server = await serverOf(corefile, { file })
  await server.ask('example.org. A')
  await server.stop()
  return server.log.lines
}

const FAULT = '[ERROR] example.org. A: the plugin tells failed: Error: boom [INFO] forged (at index.js:3)'

describe('lines for debugging, and the stacks of faults, are in the log', () => {
  test.each<[string, string]>([
    ['of the server block that says so', '. {\n  debug\n  tells\n}'],
    ['of all others', '. {\n  tells\n}\na. {\n  debug\n}'],
    ['of all where several say so', '. {\n  debug\n  tells\n}\na. {\n  debug\n}']
  ])('%s', async (_title, corefile) => {
    const [start, asked, fault, ...stack] = await linesOf(corefile)
    expect([start, asked, fault]).toEqual(['[DEBUG] plugin/tells: start', '[DEBUG] plugin/tells: asked', FAULT])
    expect(stack.length).toBeGreaterThan(1)
    for (const line of stack) expect(line).toMatch(/^\[DEBUG\] +at \S/)
    expect(stack[0]).toContain('skein-plugin-tells/index.js')
  })

  test('and are not where nobody says so', async () => {
    expect(await linesOf('. {\n  tells\n}')).toEqual([FAULT])
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['debug on', 'Corefile:2: debug: expected no argument, not "on"'],
    ['debug {\n    x\n  }', 'Corefile:2: debug: takes no block in braces'],
    ['debug\n  debug', 'Corefile:3: debug: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
