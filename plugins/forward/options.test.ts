import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readResolvConf } from 'skein/plugin'
import { serverOf } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { readTo } from './to.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-forward-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'Corefile')

/** The problem of a Corefile without the folder it stands in, or undefined where it is accepted. */
async function problemOf(directive: string): Promise<string | undefined> {
  try {
    const server = await serverOf(`. {\n${directive}\n}`, { file })
    await server.stop()
    return undefined
  } catch (error) {
    return (error as Error).message.replace(`${folder}/`, '')
  }
}

const many = Array.from({ length: 16 }, (_, index) => `127.0.0.${index + 1}`)
writeFileSync(join(folder, 'resolv.conf'), 'search example.org\nnameserver 127.0.0.1\n')
writeFileSync(join(folder, 'empty.conf'), 'search example.org\n')
writeFileSync(join(folder, 'names.conf'), 'search corp.example\nnameserver dns-upstream\nnameserver 127.0.0.1%lo\n')

describe('a forward that is wrong is told with its place', () => {
  test.each<[string, string]>([
    [
      'forward',
      'Corefile:2: forward: expected FROM TO…: a zone such as . or example.org, then an address, or a file like /etc/resolv.conf'
    ],
    ['forward .', 'Corefile:2: forward: expected TO… after ".": an address, or a file like /etc/resolv.conf'],
    ['forward . {\nforce_tcp\n}', 'Corefile:2: forward: expected TO… after ".": an address, or a file like /etc/resolv.conf'],
    ['forward 192.0.2.1 192.0.2.2', 'Corefile:2: forward: expected a zone such as . or example.org, not the address "192.0.2.1"'],
    [
      'forward a..b 192.0.2.2',
      'Corefile:2: forward: "a..b": no domain name: an empty label in the name "a..b", expected one such as example.org'
    ],
    [
      'forward 192.0.2.0/33 127.0.0.1',
      'Corefile:2: forward: "192.0.2.0/33": looks like a network but is none, expected one such as 192.0.2.0/24 or 2001:db8::/32'
    ],
    [
      'forward . 127.0.0.1 {\npolicy randon\n}',
      'Corefile:3: forward: policy: expected one of random, round_robin, sequential, not "randon": did you mean random?'
    ],
    ['forward . 127.0.0.1 {\npolicy\n}', 'Corefile:3: forward: policy: expected POLICY: one of random, round_robin, sequential'],
    ['forward . 127.0.0.1 {\nndots\n}', 'Corefile:3: forward: ndots: expected LABELS: a whole number from 0 to 127'],
    ['forward . 127.0.0.1 {\nndots -1\n}', 'Corefile:3: forward: ndots: expected a whole number from 0 to 127, not "-1"'],
    [
      'forward . 127.0.0.1 {\nread_timeout 2h\n}',
      'Corefile:3: forward: read_timeout: expected a duration such as 30s or 5m, at least 1ms, at most 1h, not "2h"'
    ],
    [
      'forward . 127.0.0.1 {\nexcept 192.0.2.1\n}',
      'Corefile:3: forward: except: expected a zone such as . or example.org, not the address "192.0.2.1"'
    ],
    ['forward . 127.0.0.1 {\nexcept . {\n}\n}', 'Corefile:3: forward: except: takes no block in braces'],
    ['forward . 127.0.0.1:99999', 'Corefile:2: forward: "127.0.0.1:99999": expected a port from 1 to 65535, not "99999"'],
    ['forward . 127.0.0.1:0', 'Corefile:2: forward: "127.0.0.1:0": expected a port from 1 to 65535, not "0"'],
    ['forward . 127.0.0.1:', 'Corefile:2: forward: "127.0.0.1:": expected a port from 1 to 65535, not ""'],
    ['forward . 127.0.0.1:dns-port', 'Corefile:2: forward: "127.0.0.1:dns-port": expected a port from 1 to 65535, not "dns-port"'],
    ['forward . [::1]:x', 'Corefile:2: forward: "[::1]:x": expected a port from 1 to 65535, not "x"'],
    ['forward . [::1]53', 'Corefile:2: forward: "[::1]53": expected nothing or a colon and a port after the brackets'],
    ['forward . [127.0.0.1]:53', 'Corefile:2: forward: "[127.0.0.1]:53": expected an IPv6 address in the brackets'],
    ...['127.0.0.1%eth0', '127.0.0.1%eth0:53', 'dns://127.0.0.1%eth0'].map((address): [string, string] => [
      `forward . ${address}`,
      `Corefile:2: forward: "${address}": an IPv4 address has no zone`
    ]),
    ['forward . [127.0.0.1%eth0]:53', 'Corefile:2: forward: "[127.0.0.1%eth0]:53": expected an IPv6 address in the brackets'],
    [
      'forward . tls://127.0.0.1%dns.example.net',
      'Corefile:2: forward: "tls://127.0.0.1%dns.example.net": upstreams over tls:// are not supported yet, expected dns:// or an address'
    ],
    [
      'forward . tls://127.0.0.1',
      'Corefile:2: forward: "tls://127.0.0.1": upstreams over tls:// are not supported yet, expected dns:// or an address'
    ],
    [
      'forward . https://127.0.0.1',
      'Corefile:2: forward: "https://127.0.0.1": upstreams over https:// are not supported yet, expected dns:// or an address'
    ],
    [
      'forward . quic://127.0.0.1',
      'Corefile:2: forward: "quic://127.0.0.1": upstreams over quic:// are not supported yet, expected dns:// or an address'
    ],
    [
      'forward . grpc://127.0.0.1',
      'Corefile:2: forward: "grpc://127.0.0.1": the scheme "grpc" is unknown for an upstream, expected dns:// or an address'
    ],
    [
      'forward . dns-upstream',
      'Corefile:2: forward: "dns-upstream" is neither an address nor a file; host names are not supported yet: name upstreams by address'
    ],
    [
      'forward . dns://ns.example.org',
      'Corefile:2: forward: "dns://ns.example.org" is neither an address nor a file; host names are not supported yet: name upstreams by address'
    ],
    [
      'forward . ns.example.org:53',
      'Corefile:2: forward: "ns.example.org:53" is neither an address nor a file; host names are not supported yet: name upstreams by address'
    ],
    ...['localhost', 'dns-upstream.', 'dns-upstream:53', 'dns://dns-upstream', 'dns-upstream%eth0'].map((name): [string, string] => [
      `forward . ${name}`,
      `Corefile:2: forward: "${name}" is neither an address nor a file; host names are not supported yet: name upstreams by address`
    ]),
    ['forward . names.conf', 'Corefile:2: forward: names.conf: expected a file with a line such as `nameserver 192.0.2.53`'],
    ['forward . [dns-upstream]:53', 'Corefile:2: forward: "[dns-upstream]:53": expected an IPv6 address in the brackets'],
    ['forward . ""', 'Corefile:2: forward: expected an address, or a file like /etc/resolv.conf, not ""'],
    ['forward . /nowhere/resolv.conf', 'Corefile:2: forward: cannot read /nowhere/resolv.conf: there is no such file'],
    ['forward . empty.conf', 'Corefile:2: forward: empty.conf: expected a file with a line such as `nameserver 192.0.2.53`'],
    [`forward . ${many.join(' ')}`, 'Corefile:2: forward: expected at most 15 upstreams, not 16'],
    [
      'forward . 127.0.0.1 {\npolicy fastest\n}',
      'Corefile:3: forward: policy: expected one of random, round_robin, sequential, not "fastest"'
    ],
    ['forward . 127.0.0.1 {\npolicy random sequential\n}', 'Corefile:3: forward: policy: expected at most 1 argument, not "sequential"'],
    ['forward . 127.0.0.1 {\nns_rotate\n}', 'Corefile:3: forward: ns_rotate: expected on or off, not nothing'],
    ['forward . 127.0.0.1 {\nns_rotate yes\n}', 'Corefile:3: forward: ns_rotate: expected on or off, not "yes"'],
    [
      'forward . 127.0.0.1 {\nns_rotate on\npolicy random\n}',
      'Corefile:4: forward: policy: ns_rotate in line 3 says the same, expected one of the two'
    ],
    ['forward . 127.0.0.1 {\nndots two\n}', 'Corefile:3: forward: ndots: expected a whole number from 0 to 127, not "two"'],
    ['forward . 127.0.0.1 {\nndots 2 3\n}', 'Corefile:3: forward: ndots: expected at most 1 argument, not "3"'],
    ['forward . 127.0.0.1 {\nno_rec on\n}', 'Corefile:3: forward: no_rec: expected no argument, not "on"'],
    ['forward . 127.0.0.1 {\nforce_tcp yes\n}', 'Corefile:3: forward: force_tcp: expected no argument, not "yes"'],
    ['forward . 127.0.0.1 {\nforce_tcp\nforce_tcp\n}', 'Corefile:4: forward: force_tcp: stands in line 3 already, expected it once'],
    ['forward . 127.0.0.1 {\nprefer_udp {\n}\n}', 'Corefile:3: forward: prefer_udp: takes no block in braces'],
    [
      'forward . 127.0.0.1 {\nread_timeout 0s\n}',
      'Corefile:3: forward: read_timeout: expected a duration such as 30s or 5m, at least 1ms, at most 1h, not "0s"'
    ],
    [
      'forward . 127.0.0.1 {\nread_timeout 2\n}',
      'Corefile:3: forward: read_timeout: expected a duration such as 30s or 5m, at least 1ms, at most 1h, not "2"'
    ],
    [
      'forward . 127.0.0.1 {\nread_timeout\n}',
      'Corefile:3: forward: read_timeout: expected DURATION: a duration such as 30s or 5m, at least 1ms, at most 1h'
    ],
    ['forward . 127.0.0.1 {\nexcept\n}', 'Corefile:3: forward: except: expected ZONES…: a zone such as . or example.org'],
    [
      'forward . 127.0.0.1 {\nmax_concurrent 1000\n}',
      'Corefile:3: forward: max_concurrent: is not supported yet, expected the line left out'
    ],
    [
      'forward . 127.0.0.1 {\nhealth_check 5s no_rec\n}',
      'Corefile:3: forward: health_check: is not supported yet, expected the line left out'
    ],
    ['forward . 127.0.0.1 {\nforce_tpc\n}', 'Corefile:3: forward: unknown option "force_tpc", did you mean force_tcp?']
  ])('%j', async (directive, message) => {
    expect(await problemOf(directive)).toBe(message)
  })
})

describe('a forward that is right is accepted', () => {
  test.each([
    'forward example.org 127.0.0.1 127.0.0.2:1053 [::1]:1054 ::1 dns://127.0.0.3 fe80::1%lo [fe80::1%lo]:53',
    'forward . resolv.conf',
    'forward 192.0.2.0/25 127.0.0.1 {\nexcept 192.0.2.64/26 2001:db8::/32\n}',
    `forward . ./resolv.conf ${many.slice(1, 15).join(' ')}`,
    `forward . ${many.slice(0, 15).join(' ')} 127.0.0.1:53`,
    'forward . 127.0.0.1 {\nexcept example.org example.net\nexcept example.com\nndots 2\nno_rec\nread_timeout 500ms\nprefer_udp\npolicy round_robin\n}',
    'forward . 127.0.0.1 {\nforce_tcp\nns_rotate off\n}',
    'forward example.org 127.0.0.1\nforward . 127.0.0.2'
  ])('%j', async (directive) => {
    expect(await problemOf(directive)).toBeUndefined()
  })
})

test.each([
  ['192.0.2.1', '192.0.2.1:53'],
  ['192.0.2.1:5353', '192.0.2.1:5353'],
  ['2001:DB8:0::1', '[2001:db8::1]:53'],
  ['[2001:db8::1]', '[2001:db8::1]:53'],
  ['[2001:db8::1]:5353', '[2001:db8::1]:5353'],
  ['fe80::1%eth0', '[fe80::1%eth0]:53'],
  ['[fe80::1%eth0]:5353', '[fe80::1%eth0]:5353'],
  ['dns://192.0.2.1:5353', '192.0.2.1:5353'],
  ['dns://[::1]', '[::1]:53'],
  ['/etc/resolv.conf', undefined],
  ['resolv.conf', undefined],
  ['a:b/resolv.conf', undefined],
  ['./x:53', undefined]
])('the upstream %s is %s', (text, expected) => {
  const fail = (problem: string): never => {
    throw new Error(problem)
  }
  expect(readTo(text, fail)?.text).toBe(expected)
})

test.each<[string, string[], string[]]>([
  ['nameserver 192.0.2.1\nnameserver 192.0.2.2\n', ['192.0.2.1:53', '192.0.2.2:53'], []],
  ['# nameserver 192.0.2.1\n; nameserver 192.0.2.2\nnameserver 192.0.2.3 # ours', ['192.0.2.3:53'], []],
  ['domain example.org\r\nnameserver\t 2001:db8::1\r\noptions ndots:2', ['[2001:db8::1]:53'], []],
  ['  nameserver fe80::1%eth0', ['[fe80::1%eth0]:53'], []],
  ['nameserver 192.0.2.1%eth0\nnameserver 192.0.2.1', ['192.0.2.1:53'], ['192.0.2.1%eth0']],
  ['search corp.example\nnameserver dns-upstream\nnameserver 192.0.2.1', ['192.0.2.1:53'], ['dns-upstream']],
  ['nameserver ns.example.org\nnameserver 192.0.2.1:53\nnameserver 192.0.2.1', ['192.0.2.1:53'], ['ns.example.org', '192.0.2.1:53']],
  ['nameserver\nnameservers 192.0.2.1\nNAMESERVER 192.0.2.1', [], []],
  ['', [], []]
])('resolv.conf %j names the upstreams %j', (text, upstreams, notAddresses) => {
  const read = readResolvConf(text)
  expect(read.upstreams.map((upstream) => upstream.text)).toEqual(upstreams)
  expect(read.notAddresses).toEqual(notAddresses)
})
