/** The recipe of docs/profiling.md works as it stands there. */
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { readAnswer, requestOctets } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { freePort, startProcess, temporaryFolder } from './processes.js'
import { root } from './rules/source-file.js'

const page = readFileSync(join(root, 'docs/profiling.md'), 'utf8')
const folder = temporaryFolder()
afterAll(() => folder.remove())

/** The files of a folder of the test with this ending, parsed; those that are still being written are none yet. */
function parsed(at: string, ending: string): { nodes: unknown[] }[] {
  const names = readdirSync(join(folder.path, at)).filter((name) => name.endsWith(ending))
  return names.flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(folder.path, at, name), 'utf8')) as { nodes: unknown[] }]
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      return []
    }
  })
}

test('the command writes a heap snapshot at SIGUSR2, goes on, and writes a profile at SIGTERM', async () => {
  const [, command = '', words = ''] = /^```sh\n(\w+) (.*)\n```$/m.exec(page) ?? []
  expect(command).toBe('node')
  const port = await freePort()
  writeFileSync(join(folder.path, 'Corefile'), `.:${port} {\n  bind 127.0.0.1\n  whoami\n}\n`)
  symlinkSync(join(root, 'dist'), join(folder.path, 'dist'))
  const server = await startProcess(process.execPath, words.split(' '), { cwd: folder.path, ready: /Skein-\d/ })
  process.kill(server.pid, 'SIGUSR2')
  await expect.poll(() => parsed('.', '.heapsnapshot').length, { timeout: 15_000 }).toBe(1)
  const client = await openClient('udp', { address: '127.0.0.1', port })
  expect(readAnswer(await client.ask(requestOctets('example.org. A'))).rcode).toBe('NOERROR')
  client.close()
  // What CoreDNS does at this signal is not spoken of where it is Node's.
  await sleep(50)
  expect(server.output()).not.toContain('SIGUSR2')
  expect(await server.stop()).toBe(0)
  const [snapshot] = parsed('.', '.heapsnapshot')
  const [profile] = parsed('profiles', '.cpuprofile')
  expect(snapshot!.nodes.length).toBeGreaterThan(1000)
  expect(profile!.nodes.length).toBeGreaterThan(100)
})
