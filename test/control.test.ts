/** The control socket and the admin HTTP end of a running server, and the commands that ask there. */

import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { type Ended, MAIN, skein } from './command.js'
import { freePort, isReached, type Running, startProcess, temporaryFolder } from './processes.js'

const folder = temporaryFolder()
const running: Running[] = []
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop()
})
afterAll(() => folder.remove())

const block = (key: string, ...lines: string[]): string =>
  `${key} {\n  bind 127.0.0.1\n  whoami\n${lines.map((line) => `  ${line}\n`).join('')}}\n`

let count = 0
/** A folder with a Corefile, and the runtime folder of its servers and commands. */
class Place {
  readonly cwd = join(folder.path, String(++count))
  readonly sockets = join(this.cwd, 'run/skein')

  constructor(corefile: string) {
    mkdirSync(join(this.cwd, 'run'), { recursive: true, mode: 0o700 })
    this.write(corefile)
  }

  write(corefile: string): void {
    writeFileSync(join(this.cwd, 'Corefile'), corefile)
  }

  async start(...args: string[]): Promise<Running> {
    const env = { XDG_RUNTIME_DIR: join(this.cwd, 'run') }
    const server = await startProcess(process.execPath, [MAIN, 'run', ...args], { cwd: this.cwd, env, ready: /stop: Ctrl-C/ })
    running.push(server)
    return server
  }

  skein(...args: string[]): Promise<Ended> {
    return skein(args, this.cwd, { env: { XDG_RUNTIME_DIR: join(this.cwd, 'run') } })
  }

  /** The one socket. */
  get socketPath(): string {
    const names = readdirSync(this.sockets)
    expect(names).toHaveLength(1)
    return join(this.sockets, names[0]!)
  }

  call(method: string, path: string): Promise<Answer> {
    return call({ socketPath: this.socketPath, method, path })
  }
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

function call(options: RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent: false, ...options }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Record<string, unknown> }))
    })
    sent.once('error', reject).end()
  })
}

const HASH = /^[\da-f]{128}$/

describe('skein reload', () => {
  test('has the server go over to the files, and says what came of it', async () => {
    const place = new Place(block('a:0') + block('b:0') + block('c:0'))
    const server = await place.start()
    place.write(block('a:0') + block('b:0', 'errors') + block('d:0'))
    const { code, out, err } = await place.skein('reload')
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(
      /^reloaded: 2 server blocks built, 1 server block kept, 1 server block dropped; hash [\da-f]{12}, now [\da-f]{12}\n$/
    )
    expect((await place.skein('reload', '-conf', join(place.cwd, 'Corefile'))).out).toMatch(
      /^reloaded: 0 server blocks built, 3 server blocks kept; hash [\da-f]{12} as before\n$/
    )
    expect(server.output().match(/Reloading complete/g)).toHaveLength(2)
  })

  test('tells the error of a broken file with its line, and the server goes on', async () => {
    const place = new Place(block('a:0'))
    await place.start()
    place.write('a:0 {\n  whoamy\n}\n')
    expect(await place.skein('reload')).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^skein: Corefile:2: unknown directive "whoamy".*\n$/)
    })
    place.write(block('a:0'))
    expect((await place.skein('reload')).code).toBe(0)
  })

  test.each<[title: string, change: (place: Place) => void, why: string]>([
    ['gone', (place) => rmSync(join(place.cwd, 'Corefile')), 'there is no Corefile any more'],
    ['empty', (place) => place.write(''), 'Corefile has no server block any more']
  ])('does not go over to the built-in default where the Corefile is %s', async (_title, change, why) => {
    const place = new Place(block('a:0'))
    await place.start()
    change(place)
    expect(await place.skein('reload')).toEqual({
      code: 1,
      out: '',
      err: `skein: not reloaded, and the server goes on as it was: ${why}\n`
    })
    expect((await place.call('GET', '/server')).body.blocks).toMatchObject([{ keys: ['a:0'] }])
  })

  test('tells what is no mistake in the file too', async () => {
    const [port, taken] = [await freePort(), await freePort()]
    const other = new Place(block(`x:${taken}`))
    await other.start()
    const place = new Place(block(`a:${port}`))
    await place.start()
    place.write(block(`a:${taken}`))
    const { code, err } = await place.skein('reload')
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^skein: not reloaded, and the server goes on as it was: cannot listen on .* in use.*\n$/)
    ])
  })

  test.each<[title: string, args: string[], code: number, says: RegExp]>([
    [
      'that no server runs',
      [],
      1,
      /^skein: no server runs with \S+Corefile that this user may ask: its control socket is not in \S+run\/skein/
    ],
    [
      'that there is no such folder',
      ['-conf', 'no/Corefile'],
      1,
      /^skein: no server runs with \S+no\/Corefile: there is no such folder\n$/
    ],
    ['that standard input is no file', ['-conf', '-'], 2, /^skein: reload: expected a file/],
    ['that it takes no words', ['now'], 2, /^skein: reload: expected flags alone, not "now"\n$/]
  ])('says %s', async (_title, args, code, says) => {
    const place = new Place(block('a:0'))
    expect(await place.skein('reload', ...args)).toEqual({ code, out: '', err: expect.stringMatching(says) })
  })
})

describe('the control socket', () => {
  test('is private, and gone with the server', async () => {
    const place = new Place(block('a:0'))
    const server = await place.start()
    expect([statSync(place.sockets).mode & 0o777, statSync(place.socketPath).mode & 0o777]).toEqual([0o700, 0o600])
    expect(await server.stop()).toBe(0)
    expect(readdirSync(place.sockets)).toEqual([])
  })

  test('of a server that was killed is taken over', async () => {
    const place = new Place(block('a:0'))
    const first = await place.start()
    process.kill(first.pid, 'SIGKILL')
    await first.ended
    const before = place.socketPath
    const second = await place.start()
    expect(place.socketPath).toBe(before)
    expect((await place.call('GET', '/server')).body.pid).toBe(second.pid)
    expect(second.output()).not.toContain('[WARNING]')
  })

  test('is the first server’s of a Corefile; the second runs without, and says so', async () => {
    const place = new Place(block('a'))
    const first = await place.start('-dns.port', '0')
    const second = await place.start('-dns.port', '0')
    expect(second.output().match(/\[WARNING\].*/g)).toEqual([
      expect.stringMatching(/no control socket in \S+, so that commands do not find this server: another server of Corefile has \S+\.sock$/)
    ])
    expect(await second.stop()).toBe(0)
    expect((await place.call('GET', '/server')).body.pid).toBe(first.pid)
  })

  test('is not made in a folder that others can write to; the server says so, and runs', async () => {
    const place = new Place(block('a:0'))
    mkdirSync(place.sockets)
    chmodSync(place.sockets, 0o777)
    const server = await place.start()
    expect(server.output()).toMatch(
      /\[WARNING\] no control socket in \S+skein, so .*: the folder belongs to somebody else, or others can write/
    )
    expect(readdirSync(place.sockets)).toEqual([])
  })

  test('has the pid for a name where the Corefile was standard input, and nothing is said', async () => {
    const place = new Place(block('a:0'))
    const script = 'exec "$0" "$1" run -conf - < Corefile'
    const env = { XDG_RUNTIME_DIR: join(place.cwd, 'run') }
    const server = await startProcess('sh', ['-c', script, process.execPath, MAIN], { cwd: place.cwd, env, ready: /stop: Ctrl-C/ })
    running.push(server)
    expect(place.socketPath).toBe(join(place.sockets, `pid-${server.pid}.sock`))
    expect(server.output()).not.toContain('[WARNING]')
    expect(await place.call('POST', '/reload')).toEqual({ status: 400, body: { error: expect.stringContaining('standard input') } })
  })

  test('tells of the server, before and after reloads', async () => {
    const port = await freePort()
    const place = new Place(block(`a:${port} b:${port}`, 'cache') + block('c:0', 'etcd {\n    store ./kept\n    api off\n  }'))
    const server = await place.start()
    const { status, body } = await place.call('GET', '/server')
    const file = join(place.cwd, 'Corefile')
    const at = (line: number, column = 3): object => ({ file: 'Corefile', line, column })
    expect(status).toBe(200)
    expect(body).toEqual({
      version: expect.stringMatching(/^Skein-\d/),
      node: process.version,
      pid: server.pid,
      uptime: expect.any(Number),
      configuration: { file, hash: expect.stringMatching(HASH), files: [file] },
      reloads: { done: 0, failed: 0 },
      blocks: [
        {
          keys: [`a:${port}`, `b:${port}`],
          at: at(1, 1),
          addresses: [`127.0.0.1:${port}`],
          chain: [
            { name: 'bind', plugin: 'bind', at: at(2) },
            { name: 'cache', plugin: 'cache', at: at(4) },
            { name: 'whoami', plugin: 'whoami', at: at(3) }
          ]
        },
        {
          keys: ['c:0'],
          at: at(6, 1),
          addresses: [expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/)],
          chain: [expect.anything(), { name: 'etcd', plugin: 'etcd-backend', at: at(9) }, expect.anything()]
        }
      ],
      stores: [{ folder: join(place.cwd, 'kept'), api: null }]
    })
    place.write(block('c:0', 'nonsense'))
    const failed = await place.call('POST', '/reload')
    expect(failed).toEqual({ status: 400, body: { error: expect.stringContaining('unknown directive "nonsense"'), at: at(4) } })
    place.write(block(`a:${port} b:${port}`, 'cache') + block('d:0'))
    const done = await place.call('POST', '/reload')
    expect(done).toEqual({
      status: 200,
      body: {
        old: (body.configuration as { hash: string }).hash,
        new: expect.stringMatching(HASH),
        kept: [`a:${port} b:${port}`],
        built: ['d:0'],
        dropped: ['c:0']
      }
    })
    const after = (await place.call('GET', '/server')).body
    expect([after.reloads, after.stores]).toEqual([{ done: 1, failed: 1 }, []])
    expect(after.configuration).toMatchObject({ hash: done.body.new })
  })
})

describe('the admin HTTP end', () => {
  const server = (port: number, method = 'GET', headers: Record<string, string> = {}, path = '/server'): Promise<Answer> =>
    call({ host: '127.0.0.1', port, method, path, headers })

  test('is off where the configuration does not name it, and moves with it; the reload that moves it is answered', async () => {
    const [one, two] = [await freePort(), await freePort()]
    const place = new Place(block('a:0'))
    const { pid } = await place.start()
    const reload = async (...lines: string[]): Promise<void> => {
      place.write(block('a:0', ...lines))
      expect((await place.skein('reload')).err).toBe('')
    }
    expect(await isReached(one)).toBe(false)
    await reload(`admin 127.0.0.1:${one}`)
    expect((await server(one)).body.pid).toBe(pid)
    place.write(block('a:0', `admin 127.0.0.1:${two}`))
    const moved = await server(one, 'POST', {}, '/reload')
    expect([moved.status, moved.body.built]).toEqual([200, ['a:0']])
    expect([(await server(two)).status, await isReached(one)]).toEqual([200, false])
    await reload(`admin 127.0.0.1:${two} {\n    token hush-hush\n  }`)
    expect((await server(two)).status).toBe(401)
    expect((await server(two, 'GET', { authorization: 'Bearer hush-hush' })).body.pid).toBe(pid)
    await reload()
    expect(await isReached(two)).toBe(false)
  })

  test('takes no call from a foreign page', async () => {
    const port = await freePort()
    const place = new Place(block('a:0', `admin 127.0.0.1:${port}`))
    await place.start()
    const statuses: number[] = []
    for (const headers of [{ origin: 'http://example.org' }, { host: 'example.org' }, { 'sec-fetch-site': 'cross-site' }, {}])
      statuses.push((await server(port, 'POST', headers, '/reload')).status)
    expect(statuses).toEqual([403, 403, 403, 200])
  })

  test('that cannot listen costs the start one line, and a reload nothing', async () => {
    const [port, taken] = [await freePort(), await freePort()]
    const other = new Place(block('a:0', `admin 127.0.0.1:${taken}`))
    await other.start()
    await expect(other.start()).rejects.toThrow(
      new RegExp(`ended with 1 and printed:\nskein: Corefile:4: admin: cannot listen on 127\\.0\\.0\\.1:${taken}: the port is in use\n$`)
    )
    const place = new Place(block('a:0', `admin 127.0.0.1:${port}`))
    await place.start()
    place.write(block('a:0', `admin 127.0.0.1:${taken}`))
    expect((await place.skein('reload')).err).toBe(`skein: Corefile:4: admin: cannot listen on 127.0.0.1:${taken}: the port is in use\n`)
    expect((await server(port)).body.reloads).toEqual({ done: 0, failed: 1 })
    expect(existsSync(place.socketPath)).toBe(true)
  })

  test('is not opened where the rest of a reload fails', async () => {
    const [one, two, taken] = [await freePort(), await freePort(), await freePort()]
    const other = new Place(block(`x:${taken}`))
    await other.start()
    const place = new Place(block('a:0', `admin 127.0.0.1:${one}`))
    await place.start()
    place.write(block(`a:${taken}`, `admin 127.0.0.1:${two} {\n    token hush-hush\n  }`))
    const { status, body } = await server(one, 'POST', {}, '/reload')
    expect([status, body.error]).toEqual([409, expect.stringContaining('the port is in use')])
    expect([(await server(one)).status, await isReached(two)]).toEqual([200, false])
  })

  test('does not hold up the stop, whoever is connected', async () => {
    const port = await freePort()
    const place = new Place(block('a:0', `admin 127.0.0.1:${port}`))
    const { pid, ended } = await place.start()
    for (const open of [() => connect(port, '127.0.0.1'), () => connect(place.socketPath)]) {
      const client = open()
      client.on('error', () => {})
      await once(client, 'connect')
      client.write('GET /server HTTP/1.1\r\nHost:')
    }
    const begun = performance.now()
    process.kill(pid, 'SIGTERM')
    expect(await ended).toBe(0)
    expect(performance.now() - begun).toBeLessThan(1000)
  })

  test('is known to skein check', async () => {
    const place = new Place(block('a:0', 'admin 192.0.2.1:8053 {\n    token 12345678\n  }'))
    const { code, out } = await place.skein('check')
    expect([code, out]).toEqual([1, expect.stringMatching(/Corefile:4: admin: .*192\.0\.2\.1/)])
  })
})
