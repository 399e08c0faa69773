/** How a server that runs meets signals: it stops in order, reloads, and has everything again after a restart. */
import { createSocket } from 'node:dgram'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { readAnswer, requestOctets } from '../src/testing.js'
import { block, etcd, MAIN, start } from './command.js'
import { openClient } from './dns-client.js'
import { freePort, isReached, startProcess, temporaryFolder } from './processes.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())

describe('stopping', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`ends with 0 within a second of ${signal}, the store closed, and takes a second one soon after for the same`, async () => {
      const cwd = join(folder.path, `stop-${signal}`)
      mkdirSync(cwd)
      writeFileSync(join(cwd, 'Corefile'), etcd('store', 'api off'))
      const server = await start(cwd)
      const begun = performance.now()
      process.kill(server.pid, signal)
      // A terminal's Ctrl-C comes a second time through npm.
      await sleep(20)
      try {
        process.kill(server.pid, signal)
      } catch {
        // It has ended already, which is as good.
      }
      expect(await server.ended).toBe(0)
      expect(performance.now() - begun).toBeLessThan(1000)
      expect(server.output()).toContain(`[INFO] ${signal}: shutting down`)
      const again = await start(cwd)
      expect(await again.stop()).toBe(0)
    })
  }
})

/** How UDP sockets are driven. */
const DRIVERS = isBatchingKnown() ? ['batch', 'dgram'] : ['dgram']

describe.each(DRIVERS)('with UDP sockets driven by %s', (driver) => {
  test('answers what waits for an upstream that is silent, over UDP and TCP, before it ends', async () => {
    const cwd = join(folder.path, `waiting-${driver}`)
    mkdirSync(cwd)
    const silent = createSocket('udp4')
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', () => resolve()))
    const port = await freePort('127.0.0.1')
    writeFileSync(join(cwd, 'Corefile'), block(`forward . 127.0.0.1:${silent.address().port}`).replace(':0', `:${port}`))
    const server = await start(cwd, [], { SKEIN_UDP: driver })
    const query = Buffer.from('123401000001000000000000076578616d706c65036f72670000010001', 'hex')
    const udp = createSocket('udp4')
    const overUdp = new Promise<Buffer>((resolve) => udp.once('message', resolve))
    udp.send(query, port, '127.0.0.1')
    const tcp = connect(port, '127.0.0.1')
    const overTcp = new Promise<Buffer>((resolve) => tcp.once('data', resolve))
    tcp.write(Buffer.concat([Buffer.from([0, query.length]), query]))
    await sleep(200)
    const begun = performance.now()
    process.kill(server.pid, 'SIGTERM')
    expect([(await overUdp)[3]! & 15, (await overTcp)[5]! & 15]).toEqual([2, 2])
    expect(await server.ended).toBe(0)
    expect(performance.now() - begun).toBeLessThan(1000)
    tcp.destroy()
    udp.close()
    silent.close()
  })

  test('ends within a second of SIGTERM although a reload waits for a question that goes to a silent upstream, which is answered', async () => {
    const cwd = join(folder.path, `reload-waits-${driver}`)
    mkdirSync(cwd)
    const silent = createSocket('udp4')
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', () => resolve()))
    const port = await freePort('127.0.0.1')
    const corefile = (...lines: string[]): void => writeFileSync(join(cwd, 'Corefile'), block(...lines).replace('.:0', `.:${port}`))
    corefile(`forward . 127.0.0.1:${silent.address().port}`)
    const server = await start(cwd, [], { SKEIN_UDP: driver })
    const client = await openClient('udp', { address: '127.0.0.1', port })
    const asked = new Promise<void>((resolve) => silent.once('message', () => resolve()))
    const answered = client.ask(requestOctets('example.org. A'))
    await asked
    corefile('whoami')
    process.kill(server.pid, 'SIGHUP')
    await server.prints(/Reloading/)
    await sleep(100)
    expect(server.output()).not.toContain('Reloading complete')
    const begun = performance.now()
    process.kill(server.pid, 'SIGTERM')
    expect(readAnswer(await answered).rcode).toBe('SERVFAIL')
    expect(await server.ended).toBe(0)
    expect(performance.now() - begun).toBeLessThan(1000)
    client.close()
    silent.close()
  })

  test('twenty reloads as fast as they come, then SIGTERM amid one: every question is answered, health moves, and it ends with 0', async () => {
    const cwd = join(folder.path, `hurried-${driver}`)
    mkdirSync(cwd)
    const [port, one, other] = [await freePort('127.0.0.1'), await freePort('127.0.0.1'), await freePort('127.0.0.1')]
    const corefile = (...lines: string[]): void => writeFileSync(join(cwd, 'Corefile'), block(...lines).replace('.:0', `.:${port}`))
    corefile('whoami', `health 127.0.0.1:${one}`)
    const server = await start(cwd, [], { SKEIN_UDP: driver })
    const client = await openClient('udp', { address: '127.0.0.1', port })
    let asked = 0
    const asking = (async () => {
      for (; asked < 40; asked++) expect(readAnswer(await client.ask(requestOctets('a.test. A'))).rcode).toBe('NOERROR')
    })()
    for (let reload = 0; reload < 20; reload++) {
      if (reload === 10) corefile('whoami', 'nonsense')
      if (reload === 15) corefile('whoami', `health 127.0.0.1:${other}`)
      process.kill(server.pid, 'SIGHUP')
      await sleep(10)
    }
    await asking
    await server.prints(/Reloading complete: 1 server block built/)
    expect([await isReached(one), await isReached(other)]).toEqual([false, true])
    expect(server.output()).toMatch(/Reload failed, and the server goes on as it was: Corefile:4: unknown directive "nonsense"/)
    process.kill(server.pid, 'SIGHUP')
    process.kill(server.pid, 'SIGTERM')
    const begun = performance.now()
    expect(await server.ended).toBe(0)
    expect(performance.now() - begun).toBeLessThan(1000)
    client.close()
  })
})

describe('a plugin that never comes to an end does not keep the server from its own, within a second', () => {
  const never = '() => new Promise(() => {})'
  test.each<[title: string, layer: string, atStart: boolean, code: number, told: RegExp]>([
    ['where it does not start at a reload', `{ start: ${never} }`, false, 0, /SIGTERM: shutting down/],
    ['where it does not stop at a reload', `{ stop: ${never} }`, true, 0, /SIGTERM: shutting down/],
    [
      'where it does not stop at the stop',
      `{ stop: ${never} }`,
      false,
      1,
      /not everything stopped cleanly: \S*Corefile:\d+: never: its plugin failed to stop: it has not within 0\.4 s, and is not waited for/
    ]
  ])('%s', async (title, layer, atStart, code, told) => {
    const cwd = join(folder.path, title.replaceAll(' ', '-'))
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'never.js'), `export default { name: 'never', api: 1, setup: () => (${layer}) }`)
    const corefile = (...lines: string[]): void => writeFileSync(join(cwd, 'Corefile'), block('plugin ./never.js', 'whoami', ...lines))
    corefile(...(atStart || code === 1 ? ['never'] : []))
    const server = await start(cwd)
    if (code === 0) {
      corefile(...(atStart ? [] : ['never']))
      process.kill(server.pid, 'SIGHUP')
      await server.prints(/Reloading/)
      await sleep(200)
      expect(server.output()).not.toContain('Reloading complete')
    }
    const begun = performance.now()
    process.kill(server.pid, 'SIGTERM')
    expect(await server.ended).toBe(code)
    expect(performance.now() - begun).toBeLessThan(1000)
    expect(server.output()).toMatch(told)
  })
})

test('ends at once at a second signal, with 2, while health has it wait', async () => {
  const cwd = join(folder.path, 'twice')
  mkdirSync(cwd)
  const health = await freePort('127.0.0.1')
  writeFileSync(join(cwd, 'Corefile'), block('whoami', `health 127.0.0.1:${health} {`, '  lameduck 10s', '}'))
  const server = await start(cwd)
  process.kill(server.pid, 'SIGTERM')
  await server.prints(/SIGTERM: shutting down/)
  // What comes sooner is taken for the same signal.
  await sleep(600)
  const begun = performance.now()
  process.kill(server.pid, 'SIGTERM')
  expect(await server.ended).toBe(2)
  expect(performance.now() - begun).toBeLessThan(500)
})

test('SIGHUP and SIGUSR1 reload it, a broken Corefile changes nothing, and no debugger opens', async () => {
  const cwd = join(folder.path, 'signals')
  mkdirSync(cwd)
  const port = await freePort('127.0.0.1')
  const corefile = (...lines: string[]): void => writeFileSync(join(cwd, 'Corefile'), block(...lines).replace('.:0', `.:${port}`))
  corefile('whoami')
  const server = await start(cwd)
  corefile('chaos Skein-A')
  process.kill(server.pid, 'SIGHUP')
  await server.prints(/Reloading complete: 1 server block built, 0 server blocks kept/)
  corefile('chaso')
  process.kill(server.pid, 'SIGUSR1')
  await server.prints(
    /\[ERROR\] Reload failed, and the server goes on as it was: Corefile:3: unknown directive "chaso": did you mean chaos\?/
  )
  const client = await openClient('udp', { address: '127.0.0.1', port })
  const { answer } = readAnswer(await client.ask(requestOctets('version.bind. TXT CH')))
  client.close()
  expect(answer).toEqual(['version.bind. 0 CH TXT "Skein-A"'])
  process.kill(server.pid, 'SIGUSR2')
  await server.prints(/SIGUSR2: the binary is not replaced while it runs/)
  expect(server.output()).not.toContain('Debugger')
  expect(await server.stop()).toBe(0)
})

test('what was read from standard input is not read again', async () => {
  const cwd = join(folder.path, 'stdin')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'input'), block('whoami'))
  const server = await startProcess('sh', ['-c', `exec "$0" "$1" -conf - < input`, process.execPath, MAIN], { cwd, ready: /Skein-\d/ })
  process.kill(server.pid, 'SIGHUP')
  await server.prints(/Reload failed, and the server goes on as it was: it was read from standard input, which cannot be read again/)
  expect(await server.stop()).toBe(0)
})

test('ends within a second although a client of the keys API has sent half a request', async () => {
  const cwd = join(folder.path, 'half')
  mkdirSync(cwd)
  const api = await freePort('127.0.0.1')
  writeFileSync(join(cwd, 'Corefile'), etcd('store', `api 127.0.0.1:${api}`))
  const server = await start(cwd)
  const socket = connect(api, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    'PUT /v2/keys/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nval'
  )
  await sleep(100)
  const begun = performance.now()
  expect(await server.stop()).toBe(0)
  expect(performance.now() - begun).toBeLessThan(1000)
  socket.destroy()
})

test('what was acknowledged is there again after a restart, and answers', async () => {
  const cwd = join(folder.path, 'restart')
  mkdirSync(cwd)
  const [port, api] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')]
  writeFileSync(join(cwd, 'Corefile'), etcd('store', `api 127.0.0.1:${api}`).replace(':0', `:${port}`))
  const first = await start(cwd)
  const body = new URLSearchParams({ value: '{"host":"10.9.8.7"}' })
  const put = await fetch(`http://127.0.0.1:${api}/v2/keys/skydns/test/skydns/web`, { method: 'PUT', body })
  expect(put.status).toBe(201)
  // As a crash does: nothing gets to say goodbye.
  process.kill(first.pid, 'SIGKILL')
  await first.ended
  const second = await start(cwd)
  const got = (await (await fetch(`http://127.0.0.1:${api}/v2/keys/skydns/test/skydns/web`)).json()) as { node: { value: string } }
  expect(got.node.value).toBe('{"host":"10.9.8.7"}')
  expect(await second.stop()).toBe(0)
})
