import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort, startProcess, temporaryFolder } from './processes.js'
import { hasTool, tool, toolNames } from './tools.js'

const node = process.execPath
const sleeper = 'setInterval(() => {}, 1000);'

test('waits for a line of output, collects all of it, and stops by pid', async () => {
  const running = await startProcess(node, ['-e', `console.log('one'); console.error('ready 42'); ${sleeper}`], { ready: /ready (\d+)/ })
  expect((await running.prints(/ready (\d+)/))[1]).toBe('42')
  await running.prints(/one/)
  expect(await running.stop()).toBe('SIGTERM')
  expect(() => process.kill(running.pid, 0)).toThrow('ESRCH')
})

test('waits for a predicate', async () => {
  let asked = 0
  const running = await startProcess(node, ['-e', sleeper], { ready: () => ++asked === 3 })
  expect(asked).toBe(3)
  await running.stop()
})

test('kills what does not heed SIGTERM within the grace', async () => {
  const running = await startProcess(node, ['-e', `process.on('SIGTERM', () => {}); console.log('deaf'); ${sleeper}`], { ready: /deaf/ })
  expect(await running.stop(100)).toBe('SIGKILL')
})

test.each<[string, string, string[], number, RegExp]>([
  ['ends', node, ['-e', "console.log('no such zone'); process.exit(3)"], 10_000, /ended with 3 and printed:\nno such zone/],
  ['cannot be started', '/nonexistent/program', [], 10_000, /ENOENT/],
  ['takes too long', node, ['-e', sleeper], 300, /expected within 300 ms/]
])('an error says why a process is not ready: it %s', async (_, command, args, readyWithinMs, words) => {
  await expect(startProcess(command, args, { ready: /never/, readyWithinMs })).rejects.toThrow(words)
})

test('hands out ports that are free, each once', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()))
  expect(new Set(ports).size).toBe(20)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(ports[0], '127.0.0.1', resolve))
  await new Promise((resolve) => server.close(resolve))
})

test('a temporary folder goes with all that is in it', () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder.path, 'a'), '')
  folder.remove()
  expect(existsSync(folder.path)).toBe(false)
})

test('each tool is known to the installer, and named by an absolute path', async () => {
  const installer = new URL('../../test/install-tools.mjs', import.meta.url).href
  const { packages } = (await import(/* @vite-ignore */ installer)) as { packages: Record<string, string> }
  expect(Object.keys(packages).sort()).toEqual([...toolNames].sort())
  for (const name of toolNames) {
    if (hasTool(name)) expect(tool(name)).toMatch(/^\//)
    else expect(() => tool(name)).toThrow(`${name} is not installed`)
  }
})
