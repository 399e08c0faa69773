/** What plugins do while a reload or a stop is under way, and what they do wrong then. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { LOG, processContainer, scopesOf, servicesOf } from '../src/container.js'
import { parseCorefile } from '../src/corefile/parser.js'
import type { Configuration } from '../src/process/configuration.js'
import { type RunningServer, startServer } from '../src/process/run.js'
import { readAnswer, requestOctets, TestLog } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { freePort, temporaryFolder } from './processes.js'

const folder = temporaryFolder()
const file = join(folder.path, 'Corefile')
const NEVER = new Promise<void>(() => {})

/** What the plugin `does` waits for, and calls, by its word. */
const hooks: Record<string, { start?: () => unknown; stop?: () => unknown; refreshed?: () => unknown }> = {}
Object.assign(globalThis, { skeinHooks: hooks })

writeFileSync(join(folder.path, 'package.json'), '{"type":"module"}')
// Answers with its word.
writeFileSync(
  join(folder.path, 'does.js'),
  `const text = (query, rdata) => query.reply({ aa: true, answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata }] })
  export default {
    name: 'does', api: 1, schema: { about: '', args: [{ name: 'WORD', type: 'text' }] },
    setup({ args: [word] }, host) {
      const hook = (name) => globalThis.skeinHooks[word]?.[name]?.(host)
      return {
        start: () => hook('start'), stop: () => hook('stop'), refreshed: () => hook('refreshed'),
        handle: (query) => text(query, [word])
      }
    }
  }`
)
// Answers with what the server says of another name.
writeFileSync(
  join(folder.path, 'asks.js'),
  `export default {
    name: 'asks', api: 1, schema: { about: '', args: [{ name: 'NAME', type: 'text' }] },
    setup: ({ args: [name] }, host) => ({
      async handle(query) {
        const { answer } = await host.resolve(query.ask(name, 'TXT'))
        return query.reply({ aa: true, answer: answer.map(({ rdata }) => ({ owner: query.qname, type: 'TXT', ttl: 60, rdata })) })
      }
    })
  }`
)

const PLUGINS = 'plugins.test {\n  bind 127.0.0.1\n  plugin ./does.js\n  plugin ./asks.js\n}\n'
const block = (zone: string, ...lines: string[]): string => `${zone} {\n  bind 127.0.0.1\n${lines.map((line) => `  ${line}\n`).join('')}}\n`
const read = (corefile: string): Configuration => ({ ...parseCorefile(PLUGINS + corefile, file), file, isDefault: false })

let server: RunningServer | undefined
afterEach(async () => {
  for (const word of Object.keys(hooks)) delete hooks[word]
  await server?.stop().catch(() => {})
  server = undefined
})

interface Started {
  readonly running: RunningServer
  readonly log: TestLog
  readonly ask: (qname: string) => Promise<string>
}

async function started(corefile: string): Promise<Started> {
  const port = await freePort()
  const log = new TestLog()
  const container = processContainer('Skein-test')
  container.register(LOG, { useValue: log })
  const services = servicesOf(container)
  const running = await startServer({ configuration: read(corefile), services, makeScope: scopesOf(container), defaultPort: port })
  server = running
  const ask = async (qname: string): Promise<string> => {
    const client = await openClient('udp', { address: '127.0.0.1', port })
    const { rcode, answer } = readAnswer(await client.ask(requestOctets(`${qname} TXT`)))
    client.close()
    return answer[0]?.replace(/^.* TXT /, '').replaceAll('"', '') ?? rcode
  }
  return { running, log, ask }
}

/** Has a plugin wait when it starts; gives when it does, and what lets it go on. */
function waiting(word: string): { readonly waits: Promise<void>; readonly goOn: () => void } {
  let goOn = (): void => {}
  const open = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const waits = new Promise<void>((resolve) => {
    hooks[word] = {
      start: () => {
        resolve()
        return open
      }
    }
  })
  return { waits, goOn }
}

const debugsAfter = (log: TestLog): string[] => {
  const before = log.lines.length
  log.debug('shown')
  return log.lines.slice(before)
}

test('a block is not kept that has looked up in one that changes while the reload was under way', async () => {
  const asking = block('a', 'cache', 'asks x.b.')
  const { running, ask } = await started(asking + block('b', 'does one'))
  const { waits, goOn } = waiting('two')
  const reloaded = running.reload(read(asking + block('b', 'does two')))
  await waits
  expect(await ask('x.a.')).toBe('one')
  goOn()
  expect((await reloaded).kept).toEqual(['plugins.test'])
  expect(await ask('x.a.')).toBe('two')
})

test('a plugin that fails when it is told of a reload costs a line', async () => {
  const { running, log, ask } = await started(block('a', 'does one'))
  hooks.two = {
    refreshed: () => {
      throw new Error('boom')
    }
  }
  await running.reload(read(block('a', 'does two')))
  expect(log.lines).toEqual([expect.stringContaining(`[ERROR] ${file}:8: does: its plugin failed after a reload: boom (at does.js:`)])
  expect(await ask('x.a.')).toBe('two')
})

describe('where a reload fails, the log has lines for debugging as before', () => {
  test.each<[title: string, before: readonly string[], after: readonly string[], debugs: readonly string[]]>([
    ['none', [], ['debug', 'does fails'], []],
    ['all', ['debug'], ['does fails'], ['[DEBUG] shown']]
  ])('%s', async (_title, before, after, debugs) => {
    const { running, log } = await started(block('a', ...before, 'does one'))
    hooks.fails = { start: () => Promise.reject(new Error('no')) }
    await expect(running.reload(read(block('a', ...after)))).rejects.toThrow('does: its plugin failed to start: no')
    expect(debugsAfter(log)).toEqual(debugs)
  })
})

describe('the server stops within a second', () => {
  const WITHIN_MS = 1000

  test('although a reload waits for a plugin to start, which then ends with nothing left', async () => {
    const { running } = await started(block('a', 'does one'))
    const { waits, goOn } = waiting('two')
    let stops = 0
    hooks.two!.stop = () => stops++
    const reloaded = running.reload(read(block('a', 'does two')))
    await waits
    const begun = performance.now()
    await running.stop()
    expect(performance.now() - begun).toBeLessThan(WITHIN_MS)
    goOn()
    await expect(reloaded).rejects.toThrow('the server is stopping')
    expect(stops).toBe(1)
    expect(running.listeners.list).toEqual([])
  })

  test('although a plugin never stops, and says which', async () => {
    hooks.one = { stop: () => NEVER }
    const { running } = await started(block('a', 'does one'))
    const begun = performance.now()
    await expect(running.stop()).rejects.toThrow(`${file}:8: does: its plugin failed to stop: it takes too long, and is not waited for`)
    expect(performance.now() - begun).toBeLessThan(WITHIN_MS)
  })
})
