import { describe, expect, test } from 'vitest'
import { HTTP_ADDRESS, httpPlace } from './place.js'

describe('where an HTTP end listens is read from', () => {
  test.each<[given: string, text: string, host: string, port: number, addresses: string[]]>([
    [':8080', ':8080', '', 8080, ['0.0.0.0', '::']],
    ['127.0.0.1:0', '127.0.0.1:0', '127.0.0.1', 0, ['127.0.0.1']],
    ['localhost:80', '127.0.0.1:80', '127.0.0.1', 80, ['127.0.0.1']],
    ['LocalHost:80', '127.0.0.1:80', '127.0.0.1', 80, ['127.0.0.1']],
    ['[::1]:65535', '[::1]:65535', '::1', 65535, ['::1']],
    ['[0:0::0:1]:1', '[::1]:1', '::1', 1, ['::1']],
    ['ns.example.org:1', 'ns.example.org:1', 'ns.example.org', 1, ['ns.example.org']]
  ])('%s', (given, text, host, port, addresses) => {
    expect(given).toMatch(HTTP_ADDRESS)
    expect(httpPlace(given)).toEqual({ text, host, port, listens: addresses.map((address) => ({ address, port })) })
  })
})

test.each(['', '8080', '127.0.0.1', '127.0.0.1:', '::1:80', ':65536', ':x', ':-1', '[]:80', ':080000'])('%j says none', (given) => {
  expect(given).not.toMatch(HTTP_ADDRESS)
})
