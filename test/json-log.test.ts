/** With -log-format=json all that the process prints is JSON, line by line. */
import { createSocket } from 'node:dgram'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { freePort, startProcess, temporaryFolder } from './processes.js'

const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))
const folder = temporaryFolder()
afterAll(() => folder.remove())

function corefile(name: string, ...lines: string[]): string {
  const path = join(folder.path, name)
  writeFileSync(path, lines.join('\n'))
  return path
}

function records(output: string): unknown[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

test('from its start to its end, queries too', async () => {
  const port = await freePort('127.0.0.1')
  const path = corefile('Corefile', `.:${port} {`, '  bind 127.0.0.1', '  log stdout', '  whoami', '}')
  const server = await startProcess(process.execPath, [MAIN, 'run', '-conf', path, '-log-format=json'], { ready: /Skein-\d/ })
  const client = createSocket('udp4')
  const answered = new Promise((resolve) => client.once('message', resolve))
  client.send(Buffer.from('123401000001000000000000076578616d706c65036f72670000010001', 'hex'), port, '127.0.0.1')
  await answered
  client.close()
  expect(await server.stop()).toBe(0)
  expect(records(server.output())).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ level: 'INFO', msg: `.:${port} on 127.0.0.1` }),
      expect.objectContaining({ level: 'WARN', msg: expect.stringMatching(/^stdout is not taken/), plugin: 'log' }),
      expect.objectContaining({ level: 'INFO', plugin: 'log', qname: 'example.org.', id: 0x1234, rcode: 'NOERROR', why: 'whoami' }),
      expect.objectContaining({ level: 'INFO', msg: 'SIGTERM: shutting down' })
    ])
  )
})

test('where it does not start as well', async () => {
  const path = corefile('wrong', '. {', '  etdc', '}')
  const server = await startProcess(process.execPath, [MAIN, '-conf', path, '-log-format', 'json'])
  expect(await server.ended).toBe(1)
  expect(records(server.output())).toEqual([
    { time: expect.any(String), level: 'ERROR', msg: expect.stringMatching(/wrong:2: unknown directive "etdc"/) }
  ])
})
