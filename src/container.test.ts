import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CLOCK, LOG, processContainer, RANDOM, SHARES, STORES, scopesOf, servicesOf, VERSION } from './container.js'
import { parseCorefile } from './corefile/parser.js'
import { buildInstance } from './process/instance.js'
import { TestClock, TestLog } from './testing.js'

test('each part of the process can be replaced by its token, and every server block gets it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-container-'))
  const container = processContainer('Skein-1.2.3')
  const log = new TestLog()
  const clock = new TestClock()
  container.register(LOG, { useValue: log })
  container.register(CLOCK, { useValue: clock })
  container.register(RANDOM, { useValue: { below: () => 0 } })
  const services = servicesOf(container)
  expect([services.log, services.clock, services.version]).toEqual([log, clock, 'Skein-1.2.3'])
  const makeScope = scopesOf(container)
  const scopes: unknown[] = []
  const { blocks } = parseCorefile('. {\n  errors\n}\na.test {\n  chaos\n}\n', join(folder, 'Corefile'))
  const instance = await buildInstance(blocks, {
    services,
    file: join(folder, 'Corefile'),
    defaultPort: 53,
    makeScope: (...args) => {
      const scope = makeScope(...args)
      scopes.push(scope)
      return scope
    }
  })
  await instance.start()
  await instance.stop()
  expect(scopes).toHaveLength(2)
  expect(scopes).toEqual([expect.objectContaining({ services }), expect.objectContaining({ services })])
  expect(scopes[0]).not.toBe(scopes[1])
  rmSync(folder, { recursive: true, force: true })
})

test('two processes in one program share nothing', () => {
  const [one, two] = [processContainer('Skein-1'), processContainer('Skein-2')]
  expect(one.resolve(VERSION)).toBe('Skein-1')
  for (const token of [STORES, SHARES]) {
    expect(one.resolve<object>(token as never)).toBe(one.resolve(token as never))
    expect(one.resolve<object>(token as never)).not.toBe(two.resolve(token as never))
  }
})
