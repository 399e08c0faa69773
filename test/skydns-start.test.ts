/** `skein skydns` as operators of SkyDNS start it: what it says, what wins, and what is wrong. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Answer, readAnswer, requestOctets } from 'skein/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { kv } from '../src/process/kv.js'
import { MAIN, skein } from './command.js'
import { openClient } from './dns-client.js'
import { startPassed } from './passed.js'
import { freePort, type Running, startProcess, temporaryFolder } from './processes.js'
import { embeddedStore, startSkydns } from './skydns-command.js'
import { needs } from './tools.js'

const folder = temporaryFolder()
const running: Running[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()))
})
afterAll(() => folder.remove())

const NO_SERVER = /^skein: no server runs with \S+skydns that this user may ask: its control socket is not in .+\n$/

let made = 0

/** A folder of its own. */
function place(): string {
  const cwd = join(folder.path, `${++made}`)
  mkdirSync(cwd)
  return cwd
}

async function started(args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<Running> {
  const server = await startSkydns(args, cwd, env)
  running.push(server)
  return server
}

async function ask(port: number, question: string, address = '127.0.0.1', transport: 'udp' | 'tcp' = 'udp'): Promise<Answer> {
  const client = await openClient(transport, { address, port })
  try {
    return readAnswer(await client.ask(requestOctets(question, { edns: 4096 })))
  } finally {
    client.close()
  }
}

/** What the server has said of its settings. */
function told(server: Running): string[] {
  return server
    .output()
    .split('\n')
    .filter((line) => /^\[\w+\] (?!plugin\/)/.test(line))
}

describe('the object in the store has the last word', () => {
  test('then flags, then variables; the log says who has said what, and a reload reads it anew', async () => {
    const cwd = place()
    const [port, other] = [await freePort(), await freePort()]
    const object = { dns_addr: `127.0.0.1:${port}`, ttl: 300, round_robin: false, etcd3: true, nameserver: [] }
    await kv(['put', '-store', join(cwd, 'd'), '/skydns/config', JSON.stringify(object)])
    await kv(['put', '-store', join(cwd, 'd'), '/skydns/test/sky/web', '{"host":"10.0.0.1"}'])
    const server = await started(
      [
        '-embedded=d',
        '-api=off',
        '-domain=sky.test',
        `-addr=127.0.0.1:${other}`,
        '-nameservers=127.0.0.1:9',
        '-stubzones=false',
        '-ndots=0'
      ],
      cwd,
      { SKYDNS_DOMAIN: 'other.test', SKYDNS_NDOTS: '5', SKYDNS_SYSTEMD: 'maybe', ETCD_PASSWORD: 'hidden' }
    )
    expect(told(server)).toEqual([
      '[WARNING] SKYDNS_SYSTEMD has no effect: expected true or false, not "maybe"',
      '[WARNING] /skydns/config: etcd3 has no effect: how etcd is read is decided before it is: by -etcd3',
      '[WARNING] /skydns/config: nameserver has no effect: SkyDNS has no such key, did you mean nameservers?',
      '[INFO] domain is sky.test (-domain)',
      `[INFO] dns_addr is 127.0.0.1:${port} (/skydns/config), and not 127.0.0.1:${other} (-addr)`,
      '[INFO] nameservers is 127.0.0.1:9 (-nameservers)',
      '[INFO] ndot is 2 (-ndots)',
      '[INFO] -embedded is d (-embedded)',
      '[INFO] -api is off (-api)',
      '[INFO] -password is given (ETCD_PASSWORD)',
      '[INFO] -stubzones is false (-stubzones)',
      '[INFO] ttl is 300 (/skydns/config)',
      '[INFO] round_robin is false (/skydns/config)',
      '[INFO] by default: systemd false, no_rec false, ns_rotate true, read_timeout 2s, -path-prefix skydns, min_ttl 60, priority 10, rcache 0, rcache_ttl 60, scache 10000, -verbose false',
      '[WARNING] ETCD_PASSWORD has no effect beside -embedded'
    ])
    expect((await ask(port, 'web.sky.test. A')).answer).toEqual(['web.sky.test. 300 A 10.0.0.1'])

    const store = embeddedStore(cwd, 'd')
    await store.put('/skydns/config', JSON.stringify({ ...object, ttl: 30 }))
    process.kill(server.pid, 'SIGHUP')
    await server.prints(/Reloading complete: 1 server block built, 0 server blocks kept/)
    expect((await ask(port, 'web.sky.test. A')).answer).toEqual(['web.sky.test. 30 A 10.0.0.1'])

    await store.put('/skydns/test/sky/odd', '{')
    symlinkSync(MAIN, join(cwd, 'skydns'))
    expect(await skein(['kv', 'bad', '-conf', 'skydns'], cwd)).toMatchObject({ code: 0, out: '/skydns/test/sky/odd: is no JSON\n' })
    for (const command of [
      ['kv', 'bad'],
      ['explain', 'web.sky.test']
    ])
      expect(await skein([...command, '-conf', '../skydns'], cwd)).toMatchObject({ code: 1, err: expect.stringMatching(NO_SERVER) })

    await store.put('/skydns/config', '{"ttl":"much"}')
    const { code, err } = await skein(['reload', '-conf', 'skydns'], cwd)
    expect({ code, err }).toEqual({
      code: 1,
      err: 'skein: not reloaded, and the server goes on as it was: /skydns/config: ttl: expected a whole number, at most 2147483647, not "much"\n'
    })
    expect((await ask(port, 'web.sky.test. A')).answer).toEqual(['web.sky.test. 30 A 10.0.0.1'])

    await store.replace('/skydns/config', [])
    process.kill(server.pid, 'SIGHUP')
    await server.prints(/there is no \/skydns\/config: going on with flags and defaults\n[\s\S]*Reloading complete/)
    expect((await ask(other, 'web.sky.test. A')).answer).toEqual(['web.sky.test. 3600 A 10.0.0.1'])
  })
})

describe('with -systemd', needs('python3'), () => {
  test('it listens on the sockets that were passed, whatever -addr says', async () => {
    const [port, other, unused] = [await freePort(), await freePort('127.0.0.2'), await freePort()]
    const server = await startPassed(
      [
        ['udp', '127.0.0.1', port],
        ['tcp', '127.0.0.1', port],
        ['udp', '127.0.0.2', other],
        ['tcp', '127.0.0.2', other]
      ],
      '',
      {
        command: [
          'skydns',
          '-systemd',
          `-addr=127.0.0.1:${unused}`,
          '-embedded=d',
          '-api=off',
          '-domain=sky.test',
          '-nameservers=127.0.0.1:9'
        ]
      }
    )
    const soa = /^sky\.test\. 3600 SOA ns\.dns\.sky\.test\. hostmaster\.sky\.test\. /
    expect((await ask(port, 'sky.test. SOA')).answer[0]).toMatch(soa)
    expect((await ask(port, 'sky.test. SOA', '127.0.0.1', 'tcp')).answer[0]).toMatch(soa)
    expect((await ask(other, 'sky.test. SOA', '127.0.0.2')).answer[0]).toMatch(soa)
    const passed = server.output().match(/listening on the passed socket \S+ \(\w+/g)
    expect(passed?.sort()).toEqual(
      [`127.0.0.1:${port} (udp`, `127.0.0.1:${port} (tcp`, `127.0.0.2:${other} (udp`, `127.0.0.2:${other} (tcp`]
        .map((each) => `listening on the passed socket ${each}`)
        .sort()
    )
    await expect(ask(unused, 'sky.test. SOA', '127.0.0.1', 'tcp')).rejects.toThrow('ECONNREFUSED')
  })
})

describe('where etcd is away', () => {
  test('the start goes on, and is refused until etcd is there; a reload changes nothing', async () => {
    const cwd = place()
    const [port, away] = [await freePort(), await freePort()]
    const args = [`-machines=http://127.0.0.1:${away}`, `-addr=127.0.0.1:${port}`, '-nameservers=127.0.0.1:9']
    const server = await started(args, cwd)
    expect(told(server)[0]).toBe(
      `[WARNING] cannot read /skydns/config: http://127.0.0.1:${away}: connection refused; going on with flags and defaults until SIGHUP has it read again`
    )
    expect(await ask(port, 'web.skydns.local. A')).toMatchObject({ rcode: 'REFUSED', flags: 'rd' })
    process.kill(server.pid, 'SIGHUP')
    await server.prints(/Reload failed, and the server goes on as it was: cannot read \/skydns\/config: http:\S+ connection refused\n/)
  })

  test('signals are answered from the beginning on, also while it does not answer', async () => {
    const [port, silentPort] = [await freePort(), await freePort()]
    let isAsked = false
    const silent = createServer(() => (isAsked = true)).listen(silentPort, '127.0.0.1')
    try {
      const args = ['skydns', `-machines=http://127.0.0.1:${silentPort}`, `-addr=127.0.0.1:${port}`]
      const server = await startProcess(process.execPath, [MAIN, ...args], { cwd: place(), ready: () => isAsked })
      running.push(server)
      process.kill(server.pid, 'SIGHUP')
      await server.prints(/not started yet: there is nothing to reload\n/)
      process.kill(server.pid, 'SIGTERM')
      expect(await server.ended).toBe(0)
      expect(server.output()).toContain('SIGTERM: shutting down')
    } finally {
      silent.close()
    }
  })
})

describe('while etcd is silent', () => {
  test('signals are heeded: there is nothing to reload, and a stop ends the start', async () => {
    const silent = createServer()
    const asked = new Promise<Socket>((resolve) => silent.once('connection', resolve))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    const server = await startProcess(process.execPath, [MAIN, 'skydns', `-machines=http://127.0.0.1:${port}`], { cwd: place() })
    running.push(server)
    const socket = await asked
    process.kill(server.pid, 'SIGHUP')
    await server.prints(/not started yet: there is nothing to reload\n/)
    process.kill(server.pid, 'SIGTERM')
    await server.prints(/SIGTERM: shutting down before the start was over\n/)
    expect(await server.ended).toBe(0)
    socket.destroy()
    silent.close()
  })
})

describe('what is wrong ends the start with a line that says where', () => {
  test.each<[string, string[], number, RegExp]>([
    ['a flag that is none', ['-listen=x'], 2, /^skein: unknown flag -listen=x, expected one of -domain, -addr/],
    [
      'an address without port',
      ['-addr=127.0.0.1'],
      1,
      /^skein: -addr: expected an address and a port such as 127\.0\.0\.1:53 or \[::1\]:53, not "127\.0\.0\.1": its port is missing\n$/
    ],
    [
      'members that are no URLs',
      ['-machines=ftp://a'],
      1,
      /^skein: skydns \(-machines\):\d+: etcd: endpoint: expected a URL such as http:/
    ],
    [
      'a key that is not there',
      ['-embedded=d', '-api=off', '-addr=127.0.0.1:PORT', '-dnssec=Kx'],
      1,
      /^skein: skydns \(-dnssec\):\d+: dnssec: cannot read .*Kx\.key: there is no such file\n$/
    ]
  ])('%s', async (_title, args, code, message) => {
    const port = await freePort()
    const ended = await skein(['skydns', ...args.map((arg) => arg.replace('PORT', `${port}`))], place())
    // What comes before is told of settings.
    expect(ended.err.slice(Math.max(0, ended.err.indexOf('skein: ')))).toMatch(message)
    expect(ended.code).toBe(code)
  })

  test('an object that is no JSON', async () => {
    const cwd = place()
    await kv(['put', '-store', join(cwd, 'd'), '/skydns/config', '{"ttl":60'])
    const { code, err } = await skein(['skydns', '-embedded=d', '-api=off'], cwd)
    expect(err).toMatch(/^skein: \/skydns\/config: expected a JSON object \(/)
    expect(code).toBe(1)
  })
})

test('it says its version, and how it is called', async () => {
  const cwd = place()
  expect(await skein(['skydns', '-version'], cwd)).toMatchObject({ code: 0, out: expect.stringMatching(/^Skein-\d+\.\d+\.\d+\n/), err: '' })
  const { out } = await skein(['skydns', '--help'], cwd)
  expect(out).toMatch(/^ {2}-addr IP:PORT +where it listens \(127\.0\.0\.1:53\)\n/m)
  expect(await skein(['help', 'skydns'], cwd)).toEqual({ code: 0, out, err: '' })
})

test('under the name skydns it is that command', async () => {
  const cwd = place()
  symlinkSync(MAIN, join(cwd, 'skydns'))
  const ended = await startProcess(process.execPath, [join(cwd, 'skydns'), '-embedded=d', '-print-corefile'], { cwd })
  expect(await ended.ended).toBe(0)
  expect(ended.output()).toContain(`\n    store ${join(cwd, 'd')}\n`)
})
