import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'

describe('replies over UDP are capped', () => {
  test.each<[string, number, number]>([
    ['', 1232, 1232],
    ['bufsize', 1232, 1232],
    ['bufsize 512', 512, 512],
    ['bufsize 4096', 4096, 4096]
  ])('%j', async (line, size, advertised) => {
    const server = await serverOf(`. {\n  ${line}\n  whoami\n}`)
    expect(server.instance.serving.udpSize).toBe(size)
    expect((await server.ask('example.org. A', { edns: 4096 })).edns?.size).toBe(advertised)
    await server.stop()
  })

  test('in every server block, where one says so', async () => {
    const server = await serverOf('a {\n  bufsize 4096\n}\nb {\n  whoami\n}\nc {\n  bufsize 4096\n}')
    expect((await server.ask('b. A', { edns: 512 })).edns?.size).toBe(4096)
    await server.stop()
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['bufsize 511', 'Corefile:2: bufsize: expected a whole number from 512 to 4096, not "511"'],
    ['bufsize 4097', 'Corefile:2: bufsize: expected a whole number from 512 to 4096, not "4097"'],
    ['bufsize 1k', 'Corefile:2: bufsize: expected a whole number from 512 to 4096, not "1k"'],
    ['bufsize -1232', 'Corefile:2: bufsize: expected a whole number from 512 to 4096, not "-1232"'],
    ['bufsize ""', 'Corefile:2: bufsize: expected a whole number from 512 to 4096, not ""'],
    ['bufsize 1232 1232', 'Corefile:2: bufsize: expected at most 1 argument, not "1232"'],
    ['bufsize {\n  }', 'Corefile:2: bufsize: takes no block in braces'],
    ['bufsize\n  bufsize nonsense', 'Corefile:3: bufsize: may stand only once in a server block, and stands in line 2 already'],
    ['bufsize\n}\na {\n  bufsize 4096', 'Corefile:5: bufsize: differs from what Corefile:2 says, expected the same']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
