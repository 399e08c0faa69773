import { afterEach, describe, expect, test } from 'vitest'
import { ConfigError } from '../corefile/directive.js'
import { isBatchingKnown } from './batch/libc.js'
import { loadBatch } from './batch/open-batch.js'
import { openUdp } from './udp.js'
import { chooseUdp } from './udp-driver.js'

const told: string[] = []
const tell = { info: (text: string) => told.push(`info: ${text}`), debug: (text: string) => told.push(`debug: ${text}`) }
const failing = (): Promise<never> => Promise.reject(new Error('koffi cannot be loaded: no such package'))

afterEach(() => {
  told.length = 0
})

describe('UDP sockets are driven', () => {
  test.runIf(isBatchingKnown()).each([undefined, '', 'batch'])('in batches where nothing else is said: %j', async (wanted) => {
    expect(await chooseUdp(wanted, tell)).toBe(await loadBatch())
    expect(told).toEqual([])
  })

  test('by node:dgram where that is asked for', async () => {
    expect(await chooseUdp('dgram', tell, failing)).toBe(openUdp)
    expect(told).toEqual([])
  })

  test('by node:dgram where batches cannot be had, and the log says why', async () => {
    expect(await chooseUdp(undefined, tell, failing)).toBe(openUdp)
    const level = isBatchingKnown() ? 'info' : 'debug'
    expect(told).toEqual([`${level}: UDP goes through node:dgram, a datagram at a time: koffi cannot be loaded: no such package`])
  })

  test.each([
    ['batch', 'SKEIN_UDP is batch, and UDP in batches cannot be had: koffi cannot be loaded: no such package'],
    ['Batch', 'SKEIN_UDP is "Batch", expected batch or dgram'],
    ['io_uring', 'SKEIN_UDP is "io_uring", expected batch or dgram']
  ])('not at all where %s is asked for in vain', async (wanted, line) => {
    const failed = chooseUdp(wanted, tell, failing)
    await expect(failed).rejects.toThrow(ConfigError)
    await expect(failed).rejects.toThrow(line)
  })
})

test.each([
  ['linux', 'x64', true],
  ['linux', 'arm64', true],
  ['linux', 'ia32', false],
  ['linux', 'ppc64', false],
  ['darwin', 'arm64', false],
  ['win32', 'x64', false]
] as const)('the layout of memory is known on %s %s: %s', (platform, arch, expected) => {
  expect(isBatchingKnown(platform, arch)).toBe(expected)
})
