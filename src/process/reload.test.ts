import { expect, test } from 'vitest'
import type { ProcessServices } from '../chain/scope.js'
import { parseCorefile } from '../corefile/parser.js'
import { TestClock, TestLog } from '../testing.js'
import type { Configuration } from './configuration.js'
import { PromRegistry } from './metrics.js'
import { Reloader } from './reload.js'
import type { RunningServer } from './run.js'

const read = (text: string): Configuration => ({ ...parseCorefile(text, 'Corefile'), file: 'Corefile', isDefault: false })

test('goes on looking at the files whatever was wrong with them', async () => {
  const instance = { settings: { get: () => ({ intervalMs: 10_000, jitterMs: 0 }) }, blocks: [] }
  const server = { instance, reload: async () => ({ kept: [], built: ['.'], dropped: [] }) } as unknown as RunningServer
  const [log, clock] = [new TestLog(), new TestClock()]
  const services = { log, clock, random: { below: () => 0 }, metrics: new PromRegistry() } as unknown as ProcessServices
  let text: string | undefined
  const readAgain = (): Configuration => {
    if (text === undefined) throw new RangeError('too deep')
    return read(text)
  }
  const reloader = new Reloader(server, read('. {\n}'), readAgain, services)
  const look = async (): Promise<void> => {
    clock.advance(10_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await look()
  await look()
  const failed = ['[INFO] Reloading', '[ERROR] Reload failed, and the server goes on as it was: too deep']
  expect(log.lines).toEqual(failed)
  text = 'a {\n}'
  await look()
  expect(log.lines).toEqual([...failed, '[INFO] Reloading', '[INFO] Reloading complete: 1 server block built, 0 server blocks kept'])
  reloader.stop()
  text = 'b {\n}'
  await look()
  expect(log.lines).toHaveLength(4)
})
