/** What plugins do while a reload or a stop is under way, and what they do wrong then. */
import { afterEach, describe, expect, test } from 'vitest'
import type { TestLog } from '../src/testing.js'
import { freePort } from './processes.js'
import { block, install, read, started, stopServers } from './reloading.js'

/** What the plugin `does` waits for, and calls, by its word. */
const hooks: Record<string, { start?: () => unknown; stop?: () => unknown; refreshed?: () => unknown }> = {}
Object.assign(globalThis, { skeinHooks: hooks })

// Answers with its word.
install(
  'does',
  `setup({ args: [word] }, host) {
    const hook = (name) => globalThis.skeinHooks[word]?.[name]?.(host)
    return {
      start: () => hook('start'), stop: () => hook('stop'), refreshed: () => hook('refreshed'),
      handle: (query) => query.reply({ aa: true, answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: [word] }] })
    }
  }`
)

afterEach(async () => {
  for (const word of Object.keys(hooks)) delete hooks[word]
  await stopServers()
})

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
  const { server, ask } = await started(asking + block('b', 'does one'), await freePort())
  const { waits, goOn } = waiting('two')
  const reloaded = server.reload(read(asking + block('b', 'does two')))
  await waits
  expect(await ask('x.a. TXT')).toBe('one')
  goOn()
  expect((await reloaded).kept).toEqual([])
  expect(await ask('x.a. TXT')).toBe('two')
})

test('a plugin that fails when it is told of a reload costs a line', async () => {
  const {
    server,
    services: { log },
    ask
  } = await started(block('a', 'does one'), await freePort())
  hooks.two = {
    refreshed: () => {
      throw new Error('boom')
    }
  }
  await server.reload(read(block('a', 'does two')))
  expect(log.lines).toEqual([expect.stringContaining('Corefile:3: does: its plugin failed after a reload: boom (at index.js:')])
  expect(await ask('x.a. TXT')).toBe('two')
})

describe('where a reload fails, the log has lines for debugging as before', () => {
  test.each<[title: string, before: readonly string[], after: readonly string[], debugs: readonly string[]]>([
    ['none', [], ['debug', 'does fails'], []],
    ['all', ['debug'], ['does fails'], ['[DEBUG] shown']]
  ])('%s', async (_title, before, after, debugs) => {
    const {
      server,
      services: { log }
    } = await started(block('a', ...before, 'does one'), await freePort())
    hooks.fails = { start: () => Promise.reject(new Error('no')) }
    await expect(server.reload(read(block('a', ...after)))).rejects.toThrow('does: its plugin failed to start: no')
    expect(debugsAfter(log)).toEqual(debugs)
  })
})

test('the server stops within a second although a reload waits for a plugin to start, which then ends with nothing left', async () => {
  const { server } = await started(block('a', 'does one'), await freePort())
  const { waits, goOn } = waiting('two')
  let stops = 0
  hooks.two!.stop = () => stops++
  const reloaded = server.reload(read(block('a', 'does two')))
  await waits
  const begun = performance.now()
  await server.stop()
  expect(performance.now() - begun).toBeLessThan(1000)
  goOn()
  await expect(reloaded).rejects.toThrow('the server is stopping')
  expect(stops).toBe(1)
  expect(server.listeners.list).toEqual([])
})
