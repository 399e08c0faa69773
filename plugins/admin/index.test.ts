import { adminEnd } from 'skein/plugin'
import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'

describe('where the calls are answered', () => {
  test.each<[line: string, text: string, token: string | undefined]>([
    ['admin 127.0.0.1:8053', '127.0.0.1:8053', undefined],
    ['admin localhost:8053', '127.0.0.1:8053', undefined],
    ['admin [::1]:8053', '[::1]:8053', undefined],
    ['admin :8053 {\n    token 12345678\n  }', ':8053', '12345678'],
    ['admin 192.0.2.1:8053 {\n    token 12345678\n  }', '192.0.2.1:8053', '12345678']
  ])('%s', async (line, text, token) => {
    const server = await serverOf(`a {\n  ${line}\n}\nb {\n}`)
    expect(server.instance.settings.get(adminEnd)).toMatchObject({ place: { text }, token })
    await server.stop()
  })

  test('is one for all server blocks', async () => {
    const server = await serverOf('a {\n  admin localhost:8053\n}\nb {\n  admin 127.0.0.1:8053\n}')
    await server.stop()
    await expect(serverOf('a {\n  admin 127.0.0.1:8053\n}\nb {\n  admin 127.0.0.1:8054\n}')).rejects.toThrow(
      'Corefile:5: admin: differs from what Corefile:2 says, expected the same'
    )
  })

  test('is known before anything is opened', async () => {
    await expect(serverOf('a {\n  admin 127.0.0.1:8053\n  health 127.0.0.1:8053\n}')).rejects.toThrow(
      /Corefile:[23]: (admin|health): \1 is to listen on 127\.0\.0\.1:8053, where (admin|health) is, expected another port/
    )
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['admin', 'admin: expected an address with a port such as 127.0.0.1:8053, not nothing'],
    ['admin 8053', 'admin: expected an address with a port such as 127.0.0.1:8053, not "8053"'],
    ['admin :8053', 'admin: whoever reaches :8053 could reload the server: expected `token TEXT`, or an address such as 127.0.0.1:8053'],
    ['admin 0.0.0.0:1', 'admin: whoever reaches 0.0.0.0:1 could reload the server'],
    ['admin 127.1.1.example.org:1', 'admin: whoever reaches 127.1.1.example.org:1 could reload the server'],
    ['admin 127.0.0.1:1 {\n    token 1234567\n  }', 'admin: token: expected at least 8 printable characters without spaces']
  ])('%j', async (line, problem) => {
    const error: Error = await serverOf(`. {\n  ${line}\n}`).then(
      () => new Error('it started'),
      (thrown: Error) => thrown
    )
    expect(error.message).toMatch(/^Corefile:[23]: /)
    expect(error.message).toContain(problem)
    expect(error.message).not.toContain('1234567')
  })
})
