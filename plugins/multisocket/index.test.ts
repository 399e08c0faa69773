import { availableParallelism } from 'node:os'
import { answeringThreads } from 'skein/plugin'
import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'

describe('says how many threads answer', () => {
  test.each<[string, number | undefined]>([
    ['', undefined],
    ['multisocket', availableParallelism()],
    ['multisocket 1', 1],
    ['multisocket 1024', 1024],
    ['multisocket 3\n}\na {\n  multisocket 3', 3]
  ])('%j', async (line, threads) => {
    const server = await serverOf(`. {\n  ${line}\n}`)
    expect(server.instance.settings.get(answeringThreads)).toBe(threads)
    await server.stop()
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['multisocket 0', 'Corefile:2: multisocket: expected a whole number from 1 to 1024, not "0"'],
    ['multisocket 1025', 'Corefile:2: multisocket: expected a whole number from 1 to 1024, not "1025"'],
    ['multisocket -1', 'Corefile:2: multisocket: expected a whole number from 1 to 1024, not "-1"'],
    ['multisocket two', 'Corefile:2: multisocket: expected a whole number from 1 to 1024, not "two"'],
    ['multisocket 2 2', 'Corefile:2: multisocket: expected at most 1 argument, not "2"'],
    ['multisocket {\n  }', 'Corefile:2: multisocket: takes no block in braces'],
    ['multisocket 2\n  multisocket 2', 'Corefile:3: multisocket: may stand only once in a server block, and stands in line 2 already'],
    ['multisocket 2\n}\na {\n  multisocket 3', 'Corefile:5: multisocket: differs from what Corefile:2 says, expected the same']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
