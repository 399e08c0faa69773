/** Going over to another configuration while questions come in. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { configurationHash, Reloader } from '../src/process/reload.js'
import type { ProcessStores } from '../src/process/stores.js'
import { readAnswer, requestOctets } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { freePort } from './processes.js'
import { block, events, folder, put, read, running, type Started, started, stopServers } from './reloading.js'

afterEach(stopServers)

describe('what says the same goes on, what says something else is built anew', () => {
  test('and the new one runs before the old one stops', async () => {
    const { server, services, ask } = await started(block('a', 'says one') + block('b', 'says two'), await freePort())
    const reloaded = await server.reload(read(block('b', 'says two') + block('a', 'says three') + block('c', 'says four')))
    expect(reloaded).toEqual({ kept: ['b'], built: ['a', 'c'], dropped: [] })
    expect(events(services.log)).toEqual(['start one', 'start two', 'start three', 'start four', 'stop one'])
    expect([await ask('x.a. TXT'), await ask('x.b. TXT', 'tcp'), await ask('x.c. TXT')]).toEqual(['three', 'two', 'four'])
    await server.reload(read(block('b', 'says two')))
    expect(events(services.log).slice(5)).toEqual(['stop four', 'stop three'])
    expect([await ask('x.a. TXT'), await ask('x.b. TXT')]).toEqual(['REFUSED', 'two'])
    await server.stop()
    running.splice(0)
    expect(events(services.log).slice(7)).toEqual(['stop two'])
  })

  test('a question that is on its way is answered by what it came to', async () => {
    const { server, ask } = await started(block('.', 'late old'), await freePort())
    const old = ask('x. TXT')
    await new Promise((done) => setTimeout(done, 50))
    const reloaded = server.reload(read(block('.', 'late new')))
    await new Promise((done) => setTimeout(done, 50))
    expect(await Promise.all([old, ask('x. TXT')])).toEqual(['old', 'new'])
    await reloaded
  })

  test('a connection goes over to the new one', async () => {
    const port = await freePort()
    const { server } = await started(block('.', 'says old'), port)
    const client = await openClient('tcp', { address: '127.0.0.1', port })
    const text = async (id: number): Promise<string> => readAnswer(await client.ask(requestOctets('x. TXT', { id }))).answer.join()
    expect(await text(1)).toContain('"old"')
    await server.reload(read(block('.', 'says new')))
    expect(await text(2)).toContain('"new"')
    client.close()
  })

  test('a block is not the same whose file has changed, or that stands in another order', async () => {
    writeFileSync(join(folder.path, 'word'), 'first')
    const { server, ask } = await started(block('.', 'file-says word'), await freePort())
    expect((await server.reload(read(block('.', 'file-says word')))).kept).toHaveLength(1)
    writeFileSync(join(folder.path, 'word'), 'second')
    expect((await server.reload(read(block('.', 'file-says word')))).kept).toHaveLength(0)
    expect(await ask('x. TXT')).toBe('second')
    expect((await server.reload(read(block('.', 'file-says word', 'order file-says before cache')))).kept).toHaveLength(0)
  })

  test('nor one whose folder has other names in it', async () => {
    const text = block('.', 'folder-says names')
    const { server, ask } = await started(text, await freePort())
    expect((await server.reload(read(text))).kept).toHaveLength(1)
    mkdirSync(join(folder.path, 'names'))
    expect((await server.reload(read(text))).kept).toHaveLength(0)
    writeFileSync(join(folder.path, 'names/one'), '')
    expect((await server.reload(read(text))).kept).toHaveLength(0)
    expect(await ask('x. TXT')).toBe('one')
    expect((await server.reload(read(text))).kept).toHaveLength(1)
  })

  test('a setting of the process is that of all blocks, kept ones too', async () => {
    const { server, ask } = await started(block('a', 'bufsize 1000', 'says one'), await freePort())
    await expect(server.reload(read(block('a', 'bufsize 1000', 'says one') + block('b', 'bufsize 2000', 'says two')))).rejects.toThrow(
      'bufsize: differs from what'
    )
    expect([await ask('x.a. TXT'), await ask('x.b. TXT')]).toEqual(['one', 'REFUSED'])
  })
})

describe('where anything fails, everything is as it was', () => {
  test.each([
    ['a plugin that does not start', () => block('a', 'says fails') + block('b', 'says two'), 'no'],
    ['a line that is wrong', () => block('a', 'sayz one'), 'unknown directive "sayz"'],
    ['a port that is taken', (taken: number) => block('a', 'says one') + block(`c:${taken}`, 'says three'), 'the port is in use']
  ])('%s', async (_title, corefile, message) => {
    const port = await freePort()
    const other = await freePort()
    await started(block(`z:${other}`, 'says other'), other)
    const { server, services, ask } = await started(block('a', 'says one'), port)
    await expect(server.reload(read(corefile(other)))).rejects.toThrow(message)
    expect(await ask('x.a. TXT')).toBe('one')
    const [first, ...rest] = events(services.log)
    expect(first).toBe('start one')
    // What was started for it was stopped again, and nothing else.
    const starts = rest.filter((event) => event.startsWith('start')).map((event) => event.slice('start '.length))
    expect(
      rest
        .filter((event) => event.startsWith('stop'))
        .map((event) => event.slice('stop '.length))
        .toSorted()
    ).toEqual(starts.toSorted())
    expect((await server.reload(read(block('a', 'says again')))).built).toHaveLength(1)
    expect(await ask('x.a. TXT')).toBe('again')
  })
})

describe('a store', () => {
  const etcd = (api: number, ...more: string[]): string =>
    block('skydns.test', `etcd {\n    store ./kept\n    api 127.0.0.1:${api}\n${more.map((line) => `    ${line}\n`).join('')}  }`)

  test('stays open, and its API says what the new configuration has it say', async () => {
    const [api, other] = [await freePort(), await freePort()]
    const { server, ask } = await started(etcd(api), await freePort())
    expect(await put(api, 'skydns/test/skydns/a', '{"text":"one"}')).toBe(201)
    await server.reload(read(etcd(api, 'token hush-hush-hush')))
    expect(await put(api, 'skydns/test/skydns/a', '{"text":"two"}')).toBe(401)
    expect(await put(api, 'skydns/test/skydns/a', '{"text":"two"}', { authorization: 'Bearer hush-hush-hush' })).toBe(200)
    expect(await ask('a.skydns.test. TXT')).toBe('two')
    await server.reload(read(etcd(other)))
    await expect(put(api, 'skydns/test/skydns/a', 'x')).rejects.toThrow('ECONNREFUSED')
    expect(await put(other, 'skydns/test/skydns/a', '{"text":"three"}')).toBe(200)
  })

  test('is closed when nobody uses it any more', async () => {
    const { server, services } = await started(etcd(await freePort()), await freePort())
    await server.reload(read(block('a', 'says one')))
    expect((services.stores as ProcessStores).store(join(folder.path, 'kept'))).toBeUndefined()
  })

  test('that cannot be opened leaves everything as it was', async () => {
    const api = await freePort()
    writeFileSync(join(folder.path, 'no-store'), '')
    const { server } = await started(etcd(api), await freePort())
    await expect(server.reload(read(etcd(api) + block('a.test', 'etcd {\n    store ./no-store\n    api off\n  }')))).rejects.toThrow(
      'is not a folder'
    )
    expect(await put(api, 'skydns/test/skydns/b', '{"text":"one"}')).toBe(201)
  })
})

test('fifty reloads under questions, good and broken by turns, lose none and leave nothing behind', async () => {
  const port = await freePort()
  const corefile = (round: number): string => block('.', 'cache', `says ${round % 5}`, ...(round % 3 === 1 ? ['nonsense'] : []))
  const { server, services } = await started(corefile(0), port)
  const [udp, tcp] = [await openClient('udp', { address: '127.0.0.1', port }), await openClient('tcp', { address: '127.0.0.1', port })]
  let asked = 0
  let isOver = false
  const load = async (client: typeof udp): Promise<void> => {
    while (!isOver) {
      const { rcode, answer } = readAnswer(await client.ask(requestOctets(`x${asked % 50}.test. TXT`, { id: ++asked % 65536 })))
      expect([rcode, answer.length]).toEqual(['NOERROR', 1])
    }
  }
  const asking = [load(udp), load(tcp)]
  const handles = (): number => process.getActiveResourcesInfo().length
  let before = 0
  let failed = 0
  for (let round = 1; round <= 50; round++) {
    await server.reload(read(corefile(round))).catch(() => failed++)
    if (round === 5) before = handles()
    // Questions come in between.
    await new Promise((done) => setTimeout(done, 4))
  }
  isOver = true
  await Promise.all(asking)
  expect(asked).toBeGreaterThan(100)
  expect(failed).toBe(17)
  expect(handles()).toBeLessThanOrEqual(before + 2)
  const started_ = events(services.log).filter((event) => event.startsWith('start')).length
  const stopped = events(services.log).filter((event) => event.startsWith('stop')).length
  expect(started_ - stopped).toBe(1)
  udp.close()
  tcp.close()
})

test('nothing of a configuration that was left is kept in the memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { server, ask } = await started(block('.', 'says 0') + block('kept', 'cache', 'asks x.'), await freePort())
  const left: WeakRef<object>[] = []
  for (let round = 1; round <= 5; round++) {
    await ask('a.kept. TXT')
    left.push(new WeakRef(server.instance), new WeakRef(server.instance.blocks[0]!))
    await server.reload(
      read(block('.', `says ${round}`, 'cache', 'errors', 'log', 'ready 127.0.0.1:0') + block('kept', 'cache', 'asks x.'))
    )
  }
  const there = (): number => {
    collect()
    return left.filter((each) => each.deref() !== undefined).length
  }
  // The engine may still have one in a register.
  await expect.poll(there, { timeout: 5000 }).toBeLessThan(2)
})

describe('the directive reload', () => {
  async function watched(first: string): Promise<Started & { files: { text: string }; reloader: Reloader; look: () => Promise<void> }> {
    const files = { text: first }
    const all = await started(first, await freePort())
    const reloader = new Reloader(all.server, read(first), () => read(files.text), all.services)
    onTestFinished(() => reloader.stop())
    const { clock, log } = all.services
    const ends = (): number => log.lines.filter((line) => /Reloading complete|Reload failed/.test(line)).length
    const look = async (): Promise<void> => {
      const [before, after] = [ends(), vi.spyOn(clock, 'after')]
      clock.advance(10_000)
      // It is over with the next one, or with a reload after which there is none.
      for (const deadline = Date.now() + 2000; after.mock.calls.length === 0 && ends() === before && Date.now() < deadline; )
        await new Promise((done) => setTimeout(done, 5))
      await new Promise((done) => setTimeout(done, 30))
      after.mockRestore()
    }
    return { ...all, files, reloader, look }
  }

  test('goes over to what has changed, and only then', async () => {
    const { files, ask, look, services } = await watched(block('.', 'reload 10s 0s', 'says one'))
    await look()
    expect(services.log.lines.join('\n')).not.toContain('Reloading')
    files.text = block('.', 'reload 10s 0s', 'says two')
    await look()
    expect(await ask('x. TXT')).toBe('two')
    files.text = block('.', 'says three')
    await look()
    files.text = block('.', 'says four')
    // Nothing is looked at any more.
    services.clock.advance(10_000)
    await new Promise((done) => setTimeout(done, 60))
    expect(await ask('x. TXT')).toBe('three')
  })

  test('tries what is broken once, until it changes', async () => {
    const { files, ask, look, services } = await watched(block('.', 'reload 10s 0s', 'says one'))
    files.text = block('.', 'reload 10s 0s', 'sayz one')
    await look()
    await look()
    expect(services.log.lines.filter((line) => line.includes('Reload failed'))).toHaveLength(1)
    expect(services.metrics.counters.get('coredns_reload_failed_total')?.value).toBe(1)
    files.text = '. {'
    await look()
    await look()
    expect(services.log.lines.filter((line) => line.includes('Reload failed'))).toHaveLength(2)
    files.text = block('.', 'reload 10s 0s', 'says two')
    await look()
    expect(await ask('x. TXT')).toBe('two')
  })

  test('all who ask while one is under way get the one after it', async () => {
    const { files, ask, reloader } = await watched(block('.', 'late one'))
    const asked = ask('x. TXT')
    await new Promise((done) => setTimeout(done, 30))
    files.text = block('.', 'says two')
    const first = reloader.now()
    await new Promise((done) => setTimeout(done, 30))
    files.text = block('.', 'says three')
    const [second, ...others] = await Promise.all(Array.from({ length: 50 }, () => reloader.now()))
    expect(others.every((outcome) => outcome === second)).toBe(true)
    expect(await first).not.toBe(second)
    expect([await asked, await ask('x. TXT')]).toEqual(['one', 'three'])
    expect(reloader.counts).toEqual({ done: 2, failed: 0 })
  })

  test('sees files that directives have read', async () => {
    writeFileSync(join(folder.path, 'seen'), 'one')
    const { ask, look } = await watched(block('.', 'reload 10s 0s', 'file-says seen'))
    writeFileSync(join(folder.path, 'seen'), 'two')
    await look()
    expect(await ask('x. TXT')).toBe('two')
  })

  test('sees names that come to a folder which directives have read, and go, and the folder itself', async () => {
    const at = join(folder.path, 'keys')
    const { ask, look, services } = await watched(block('.', 'reload 10s 0s', 'folder-says keys'))
    const reloads = (): number => services.log.lines.filter((line) => line.includes('Reloading complete')).length
    const steps: [() => void, string, number][] = [
      [() => {}, 'nothing', 0],
      [() => mkdirSync(at), 'nothing', 1],
      [() => writeFileSync(join(at, 'b'), ''), 'b', 2],
      [() => writeFileSync(join(at, 'a'), ''), 'a b', 3],
      // What they say is for who reads them.
      [() => writeFileSync(join(at, 'a'), 'more'), 'a b', 3],
      [() => rmSync(join(at, 'b')), 'a', 4],
      [() => rmSync(at, { recursive: true }), 'nothing', 5]
    ]
    for (const [change, word, count] of steps) {
      change()
      await look()
      expect([await ask('x. TXT'), reloads()]).toEqual([word, count])
    }
  })

  test('the hash is that of the exact octets', async () => {
    expect(configurationHash(read('. {\n}\n'))).toMatch(/^[\da-f]{128}$/)
    expect(configurationHash(read('. {\n}\n'))).not.toBe(configurationHash(read('. { \n}\n')))
  })
})
