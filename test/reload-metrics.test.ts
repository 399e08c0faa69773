/** What a reload does to the numbers, and to where they are read. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { freePort } from './processes.js'
import { block, read, started, stopServers } from './reloading.js'

afterEach(stopServers)

const get = async (port: number, path: string): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
  return response.status === 200 ? response.text() : `${response.status} ${await response.text()}`
}

test('the numbers go over to another path of the same address, and count on', async () => {
  const [port, at] = [await freePort(), await freePort()]
  const configuration = (zone: string, path: string, word: string): string =>
    block(zone, `prometheus 127.0.0.1:${at} {`, `path ${path}`, 'skydns', '}', `says ${word}`)
  const { server, services, ask } = await started(configuration('a', '/a', 'one') + configuration('b', '/b', 'one'), port)
  await ask('x.a. TXT')
  await server.reload(read(configuration('a', '/c', 'two') + configuration('b', '/b', 'one')))
  await ask('x.a. TXT')
  await ask('x.b. TXT')
  expect(await get(at, '/a')).toBe('404 there is /b and /c alone\n')
  for (const path of ['/b', '/c']) expect(await get(at, path)).toContain('skydns_skydns_dns_request_count_total{system="auth"} 3\n')
  await server.reload(read(configuration('a', '/c', 'two')))
  expect(await get(at, '/b')).toBe('404 there is /c alone\n')
  await server.reload(read(block('a', 'says one')))
  await expect(get(at, '/c')).rejects.toThrow()
  const ends = services.log.lines.flatMap((line) => /plugin\/prometheus: (.*)$/.exec(line)?.[1] ?? [])
  expect(ends).toEqual(['/a', '/b', '/c'].map((path) => `http://127.0.0.1:${at}${path}`))
})

test('an address that could not be had is tried again, also where the server block stays', async () => {
  const [port, at] = [await freePort(), await freePort()]
  const taken = createServer().listen(at, '127.0.0.1')
  await once(taken, 'listening')
  const configuration = read(block('a', `prometheus 127.0.0.1:${at}`, 'says one'))
  const { server, services } = await started(block('a', 'says zero'), port)
  const lines = (): string[] => services.log.lines.filter((line) => line.includes('plugin/prometheus'))
  const failed = `[ERROR] plugin/prometheus: cannot listen on 127.0.0.1:${at}, so nobody can read the numbers: the port is in use`
  await server.reload(configuration)
  expect(lines()).toEqual([failed])
  services.clock.advance(60_000)
  await server.reload(configuration)
  await expect.poll(lines).toEqual([failed, failed])
  await new Promise((resolve) => taken.close(resolve))
  services.clock.advance(60_000)
  expect((await server.reload(configuration)).kept).toEqual(['a'])
  await expect.poll(lines).toEqual([failed, failed, `[INFO] plugin/prometheus: http://127.0.0.1:${at}/metrics`])
  expect(await get(at, '/metrics')).toContain('coredns_build_info')
  await server.reload(configuration)
  expect(lines()).toHaveLength(3)
})
