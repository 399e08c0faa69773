import { reloadEvery } from 'skein/plugin'
import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'

describe('how often the configuration is looked at', () => {
  test.each([
    ['reload', { intervalMs: 30_000, jitterMs: 15_000 }],
    ['reload 10s', { intervalMs: 10_000, jitterMs: 5_000 }],
    ['reload 2s 0', { intervalMs: 2_000, jitterMs: 0 }],
    ['reload 1m 1s', { intervalMs: 60_000, jitterMs: 1_000 }],
    ['reload 10s 1h', { intervalMs: 10_000, jitterMs: 5_000 }]
  ])('%s', async (line, every) => {
    const server = await serverOf(`a {\n  ${line}\n}\nb {\n}`)
    expect(server.instance.settings.get(reloadEvery)).toEqual(every)
    await server.stop()
  })

  test('is one for all server blocks', async () => {
    const server = await serverOf('a {\n  reload 10s\n}\nb {\n  reload 10s 5s\n}')
    await server.stop()
    await expect(serverOf('a {\n  reload 10s\n}\nb {\n  reload 20s\n}')).rejects.toThrow(
      'Corefile:5: reload: differs from what Corefile:2 says, expected the same'
    )
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['reload 1s', 'reload: expected a duration such as 30s or 5m, at least 2s, not "1s"'],
    ['reload 10', 'reload: expected a duration such as 30s or 5m, at least 2s, not "10"'],
    ['reload 10s 999ms', 'reload: expected a JITTER of at least 1s, or 0, not 999ms'],
    ['reload 10s {\n}', 'reload: takes no block in braces']
  ])('%j', async (line, problem) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toThrow(`Corefile:2: ${problem}`)
  })
})
