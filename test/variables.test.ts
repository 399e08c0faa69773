/** An environment variable in a directive is one word, whatever its value holds: what the plugins make of it. */
import { describe, expect, test } from 'vitest'
import { verdictOf } from './corefile-cases.js'

/** The verdict on a directive with `{$X}`, which must be that with `{%X%}` and that in quotes too. */
async function verdict(directive: string, value: string | undefined): Promise<string> {
  const told: string[] = []
  for (const spelled of ['{$X}', '{%X%}', '"{$X}"']) {
    const corefile = `. {\n${directive.replace('X', () => spelled)}\n}\n`
    const {
      message,
      at,
      warnings = []
    } = await verdictOf({ topic: '', title: '', corefile, accept: true, env: value === undefined ? {} : { X: value } })
    const origin = ` (from ${spelled.replaceAll('"', '')})`
    if (message !== undefined) expect(message.endsWith(origin), message).toBe(true)
    told.push(
      message === undefined
        ? ['accepted', ...warnings].join('; ').replace(/\S*\/Corefile/, 'Corefile')
        : `${at?.line} ${message.slice(0, -origin.length).replace(/^.*?Corefile:\d+: /, '')}`
    )
  }
  expect(new Set(told)).toEqual(new Set([told[0]]))
  return told[0]!
}

const noAddress = (shown: string): string =>
  `2 forward: ${shown} is neither an address nor a file; host names are not supported yet: name upstreams by address`

describe('a variable is one word', () => {
  test.each<[string, string, string]>([
    ['forward . X', '127.0.0.1', 'accepted'],
    ['forward . X', '127.0.0.1 127.0.0.2', noAddress('"127.0.0.1 127.0.0.2"')],
    ['forward . 127.0.0.3 X', '127.0.0.1\n127.0.0.2', noAddress('"127.0.0.1\\n127.0.0.2"')],
    ['forward . X', '}', noAddress('"}"')],
    ['forward . X', '127.0.0.1 {', noAddress('"127.0.0.1 {"')],
    ['forward . X', '127.0.0.1 # ours', noAddress('"127.0.0.1 # ours"')],
    ['forward . X', '"127.0.0.1"', noAddress('"\\"127.0.0.1\\""')],
    ['bind X', '127.0.0.1 ::1', '2 bind: expected an address or the name of a network interface, not "127.0.0.1 ::1"'],
    ['bufsize X', '512 512', '2 bufsize: expected a whole number from 512 to 4096, not "512 512"'],
    ['cache {\nservfail X\n}', '5s 5s', '3 cache: servfail: expected a duration such as 30s or 5m, at most 5m, not "5s 5s"'],
    ['any X', 'refuse\nwhoami', '2 any: expected no argument or refuse, not "refuse\\nwhoami"'],
    ['chaos X', 'two words } { # "quoted"', 'accepted'],
    ['cache X', 'example.org', 'accepted']
  ])('%j with %j: %s', async (directive, value, expected) => {
    expect(await verdict(directive, value)).toBe(expected)
  })
})

describe('a variable that is not set is an empty word', () => {
  test.each<[string, string]>([
    ['forward . X', '2 forward: expected an address, or a file like /etc/resolv.conf, not ""'],
    ['forward X 127.0.0.1', '2 forward: "": no zone, expected one such as example.org, or . for all'],
    ['bind 127.0.0.1 X', '2 bind: expected an address or the name of a network interface, not ""'],
    ['bufsize X', '2 bufsize: expected a whole number from 512 to 4096, not ""'],
    ['cache {\nsuccess X\n}', '3 cache: success: expected a whole number from 1 to 2147483647, not ""'],
    ['etcd {\nstore X\n}', '3 etcd: store: expected a path, not ""'],
    ['stub {\nzone example X\n}', '3 stub: zone: expected an address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53, not ""'],
    ['log X', '2 log: expected a domain name, not "": an empty name; the root is "."'],
    ['prometheus X', '2 prometheus: expected an address with a port such as localhost:9153, not ""'],
    ['chaos X', 'accepted; Corefile:2: the environment variable "X" is not set, and is read as an empty text']
  ])('%j: %s', async (directive, expected) => {
    expect(await verdict(directive, undefined)).toBe(expected)
  })
})
