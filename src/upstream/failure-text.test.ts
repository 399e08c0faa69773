import { describe, expect, test } from 'vitest'
import { failureText, isOurs } from './failure-text.js'

const error = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`connect ${code}`), { code })

describe('a failure is told in the words of Go', () => {
  test.each<[string | NodeJS.ErrnoException, string | undefined, string]>([
    ['i/o timeout', undefined, 'dial udp 192.0.2.1:53: i/o timeout'],
    ['i/o timeout', '127.0.0.1:4711', 'read udp 127.0.0.1:4711->192.0.2.1:53: i/o timeout'],
    [error('ECONNREFUSED'), undefined, 'dial udp 192.0.2.1:53: connect: connection refused'],
    [error('ECONNREFUSED'), '127.0.0.1:4711', 'read udp 127.0.0.1:4711->192.0.2.1:53: read: connection refused'],
    [error('EMFILE'), undefined, 'dial udp 192.0.2.1:53: socket: too many open files'],
    [error('EOTHER'), undefined, 'dial udp 192.0.2.1:53: connect: connect EOTHER']
  ])('%s from %s', (reason, local, text) => {
    expect(failureText(reason, { transport: 'udp', local, remote: '192.0.2.1:53' })).toBe(text)
  })
})

test.each([
  ['EMFILE', true],
  ['EADDRNOTAVAIL', true],
  ['ENOBUFS', true],
  ['ECONNREFUSED', false],
  ['ENETUNREACH', false]
])('%s is of this machine: %s', (code, expected) => {
  expect(isOurs(error(code))).toBe(expected)
})
