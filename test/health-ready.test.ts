/** What health and ready tell while the server stops, and over a reload. */
import { createSocket } from 'node:dgram'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { LOG, processContainer, scopesOf, servicesOf } from '../src/container.js'
import { parseCorefile } from '../src/corefile/parser.js'
import { buildInstance, type Instance } from '../src/process/instance.js'
import { TestLog } from '../src/testing.js'
import { freePort, startProcess, temporaryFolder } from './processes.js'

const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))

const folder = temporaryFolder()
afterAll(() => folder.remove())

async function page(url: string): Promise<string> {
  const response = await fetch(url, { headers: { connection: 'close' } })
  return `${response.status} ${await response.text()}`
}

/** Whether DNS is answered on a port of 127.0.0.1. */
function isAnswered(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    const end = (is: boolean): void => {
      clearTimeout(late)
      socket.close()
      resolve(is)
    }
    const late = setTimeout(() => end(false), 500)
    socket.once('message', () => end(true))
    socket.send(Buffer.from('123401000001000000000000076578616d706c65036f72670000010001', 'hex'), port, '127.0.0.1')
  })
}

test('told to stop with lameduck 1s, the server answers DNS and /health for a second, is not ready, and ends with 0', async () => {
  const [dns, health, ready] = [await freePort(), await freePort(), await freePort()]
  const conf = join(folder.path, 'Corefile')
  const options = `health 127.0.0.1:${health} {\n    lameduck 1s\n  }\n  ready 127.0.0.1:${ready}`
  writeFileSync(conf, `.:${dns} {\n  bind 127.0.0.1\n  whoami\n  ${options}\n}\n`)
  const server = await startProcess(process.execPath, [MAIN, 'run', '-conf', conf], { ready: /Skein-\d/ })
  const all = async (): Promise<unknown[]> => [
    await isAnswered(dns),
    await page(`http://127.0.0.1:${health}/health`),
    await page(`http://127.0.0.1:${ready}/ready`)
  ]
  expect(await all()).toEqual([true, '200 OK', '200 OK'])
  const begun = performance.now()
  process.kill(server.pid, 'SIGTERM')
  await server.prints(/lameduck: the server answers for another 1 s/)
  const told: unknown[][] = []
  while (performance.now() - begun < 700) told.push(await all())
  expect(new Set(told.map((each) => JSON.stringify(each)))).toEqual(new Set([JSON.stringify([true, '200 OK', '503 Shutting down'])]))
  expect(await server.ended).toBe(0)
  const took = performance.now() - begun
  expect(took).toBeGreaterThan(950)
  expect(took).toBeLessThan(2000)
})

test('what health cannot listen on costs one line, with the place in the Corefile', async () => {
  const conf = join(folder.path, 'foreign')
  writeFileSync(conf, '.:0 {\n  bind 127.0.0.1\n  health 192.0.2.1:8080\n}\n')
  await expect(startProcess(process.execPath, [MAIN, 'run', '-conf', conf], { ready: /Skein-\d/ })).rejects.toThrow(
    /ended with 1 and printed:\nskein: \S+foreign:3: health: cannot listen on 192\.0\.2\.1:8080: this machine has no such address\n$/
  )
})

describe('over a reload', () => {
  const file = join(folder.path, 'reloaded')
  writeFileSync(
    join(folder.path, 'waits.js'),
    `export default { name: 'waits', api: 1, schema: { about: '', args: [{ name: 'WHY', type: 'text' }] },
      setup: ({ args: [why] }) => ({ start() {}, ready: () => why === 'no' || why }) }`
  )
  let running: Instance | undefined
  afterEach(async () => {
    await running?.stop()
    running = undefined
  })

  /** A process that runs one configuration after another. */
  function made(): { log: TestLog; build: (corefile: string) => Promise<Instance>; urls: () => string[] } {
    const log = new TestLog()
    const container = processContainer('Skein-test')
    container.register(LOG, { useValue: log })
    const services = servicesOf(container)
    return {
      log,
      urls: () => log.lines.flatMap((line) => /http:\S+/.exec(line) ?? []),
      build: (corefile) =>
        buildInstance(parseCorefile(`plugins.test {\n  plugin ./waits.js\n}\n${corefile}`, file).blocks, {
          services,
          file,
          defaultPort: 53,
          makeScope: scopesOf(container),
          ...(running && { running })
        })
    }
  }

  const one = (lines: string): string => `. {\n  ready 127.0.0.1:0\n  ${lines}\n}\n`
  const other = (lines: string): string => `b.test {\n  ${lines}\n}\n`

  test.each<[title: string, before: string, after: string, told: string]>([
    ['ready tells of a plugin that comes to its block', one(''), one('waits b'), '503 waits\nwaits: b'],
    ['ready tells of a plugin that comes to another block', one('') + other(''), one('') + other('waits b'), '503 waits\nwaits: b'],
    ['ready tells of a block that comes', one(''), one('') + other('waits b'), '503 waits\nwaits: b'],
    ['ready tells no more of a block that goes', one('') + other('waits b'), one(''), '200 OK'],
    ['ready tells it from the block that is left', one('') + other('ready 127.0.0.1:0\n  waits a'), one('waits b'), '503 waits\nwaits: b']
  ])('%s, at the same place', async (_title, before, after, told) => {
    const { build, urls } = made()
    running = await build(before)
    await running.start()
    const [url = ''] = urls()
    const first = await page(url)
    const next = await build(after)
    await next.start()
    expect(await page(url), 'what runs is what is told of').toBe(first)
    next.takeOver(running)
    expect(await page(url)).toBe(told)
    await running.stop()
    running = next
    expect(await page(url)).toBe(told)
    expect(urls()).toEqual([url])
  })

  test('that does not come about, ready tells of what runs', async () => {
    const { build, urls } = made()
    running = await build(one('waits a'))
    await running.start()
    const [url = ''] = urls()
    const next = await build(one('waits b'))
    await next.start()
    await next.abandon()
    expect(await page(url)).toBe('503 waits\nwaits: a')
  })

  test.each<[title: string, before: readonly string[], after: readonly string[], told: Record<string, string>]>([
    ['what others have', ['health ONE', 'ready TWO'], ['health TWO', 'ready ONE'], { 'TWO/health': '200 OK', 'ONE/ready': '200 OK' }],
    ['all addresses in place of one', ['health ONE', 'ready TWO'], ['health :ONE', 'ready TWO'], { 'ONE/health': '200 OK' }],
    ['one address in place of all', ['ready :ONE', 'prometheus TWO'], ['ready ONE', 'prometheus TWO'], { 'ONE/ready': '200 OK' }],
    ['what the numbers have', ['prometheus ONE'], ['ready ONE'], { 'ONE/ready': '200 OK', 'ONE/metrics': '404 there is /ready alone\n' }]
  ])('an end comes to %s, when those have gone', async (_title, before, after, told) => {
    const { build, log } = made()
    const [one, two] = [await freePort(), await freePort()]
    const placed = (text: string): string =>
      text.replace(/(:?)(ONE|TWO)/g, (_all, any: string, name) => `${any === '' ? '127.0.0.1' : ''}:${name === 'ONE' ? one : two}`)
    running = await build(placed(`. {\n  ${before.join('\n  ')}\n}\n`))
    await running.start()
    const next = await build(placed(`. {\n  ${after.join('\n  ')}\n}\n`))
    await next.start()
    next.takeOver(running)
    await running.stop()
    running = next
    await new Promise((resolve) => setTimeout(resolve, 100))
    for (const [url, expected] of Object.entries(told)) expect(await page(`http://${placed(url)}`)).toBe(expected)
    expect(log.lines.filter((line) => line.includes('ERROR'))).toEqual([])
  })

  test('that does not come about, an end that waits for a place gives up', async () => {
    const { build } = made()
    const port = await freePort()
    running = await build(`. {\n  health 127.0.0.1:${port}\n}\n`)
    await running.start()
    const next = await build(`. {\n  ready 127.0.0.1:${port}\n}\n`)
    await next.start()
    await next.abandon()
    expect(await page(`http://127.0.0.1:${port}/health`)).toBe('200 OK')
    await running.stop()
    await new Promise((resolve) => setTimeout(resolve, 100))
    await expect(page(`http://127.0.0.1:${port}/ready`)).rejects.toThrow('fetch failed')
  })

  test.each<[title: string, after: string, told: string | RegExp]>([
    ['health stays where its address does', '. {\n  health 127.0.0.1:0\n  whoami\n}\n', '200 OK'],
    ['health goes with its line', '. {\n  whoami\n}\n', 'fetch failed']
  ])('%s, and waits for nothing', async (_title, after, told) => {
    const { build, log, urls } = made()
    running = await build('. {\n  health 127.0.0.1:0 {\n    lameduck 1h\n  }\n}\n')
    await running.start()
    const [url = ''] = urls()
    const next = await build(after)
    await next.start()
    next.takeOver(running)
    await running.stop()
    running = next
    expect(await page(url).catch((error: Error) => error.message)).toBe(told)
    expect(log.lines).toHaveLength(1)
  })
})

test('nothing is ready before it has started', async () => {
  const log = new TestLog()
  const container = processContainer('Skein-test')
  container.register(LOG, { useValue: log })
  writeFileSync(
    join(folder.path, 'slow.js'),
    `export default { name: 'slow', api: 1, setup: () => ({ start: () => new Promise((resolve) => { globalThis.slowHasStarted = resolve }) }) }`
  )
  const { blocks } = parseCorefile('. {\n  plugin ./slow.js\n  slow\n  ready 127.0.0.1:0\n}\n', join(folder.path, 'slow'))
  const instance = await buildInstance(blocks, { services: servicesOf(container), file: join(folder.path, 'slow'), defaultPort: 53 })
  const started = instance.start()
  while (log.lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const url = /http:\S+/.exec(log.lines[0]!)![0]
  expect(await page(url)).toBe('503 ready,slow\nready: it is being started\nslow: it is being started')
  ;(globalThis as { slowHasStarted?: () => void }).slowHasStarted?.()
  await started
  expect(await page(url)).toBe('200 OK')
  await instance.stop()
})
