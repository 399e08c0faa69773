import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseCorefile } from '../corefile/parser.js'
import { corefileOf, type Machine } from './corefile.js'
import { givenBy, readFlags } from './given.js'
import { settle } from './settings.js'
import { readStored } from './stored.js'

const MACHINE: Machine = { resolvConf: 'nameserver 192.0.2.53\n', passed: [] }

interface Asked {
  readonly variables?: Record<string, string>
  readonly stored?: unknown
  readonly machine?: Partial<Machine>
}

function made(
  argv: readonly string[],
  { variables = {}, stored = {}, machine = {} }: Asked = {}
): { lines: string[]; notes: readonly string[] } {
  const object = readStored(JSON.stringify(stored), '/skydns/config')
  if (typeof object === 'string') throw new Error(object)
  const settings = settle(
    givenBy(readFlags(argv).flags, variables, () => {}),
    object.said
  )
  const { text, notes } = corefileOf(settings, { ...MACHINE, ...machine })
  expect(parseCorefile(text, 'Corefile').blocks.length).toBeGreaterThan(0)
  return { lines: text.split('\n').map((line) => line.trim()), notes }
}

test('without a word it is what SkyDNS does by default', () => {
  const { lines, notes } = made([])
  expect(notes).toEqual([])
  expect(lines.join('\n')).toBe(`# What the settings of SkyDNS stand for.
.:53 {
bind 127.0.0.1
bufsize 4096
errors
any refuse
loadbalance
chaos
etcd skydns.local in-addr.arpa ip6.arpa {
endpoint http://127.0.0.1:2379
version 2
path /skydns
ttl 3600
min_ttl 60
priority 10
rcache_ttl 60
fallthrough in-addr.arpa ip6.arpa
}
forward . /etc/resolv.conf {
ndots 2
ns_rotate on
read_timeout 2s
}
}
`)
})

describe('a setting becomes a line', () => {
  test.each<[string[], Asked, string[]]>([
    [['-domain=Sky.Test.'], {}, ['etcd sky.test in-addr.arpa ip6.arpa {']],
    [['-domain=.'], {}, ['etcd . in-addr.arpa ip6.arpa {']],
    [['-addr=192.0.2.1:54'], {}, ['.:54 {', 'bind 192.0.2.1']],
    [['-addr=[::1]:54'], {}, ['.:54 {', 'bind ::1']],
    [[], { stored: { dns_addr: '127.0.0.9:99' } }, ['.:99 {', 'bind 127.0.0.9']],
    [['-nameservers=192.0.2.1:53,[2001:db8::1]:54'], {}, ['forward . 192.0.2.1:53 [2001:db8::1]:54 {']],
    [[], { stored: { nameservers: ['192.0.2.1', '2001:db8::1'] } }, ['forward . 192.0.2.1 2001:db8::1 {']],
    [['-no-rec'], {}, ['no_rec']],
    [['-ndots=1', '-ns-rotate=false', '-rtimeout=300ms'], {}, ['ndots 1', 'ns_rotate off', 'read_timeout 300ms']],
    [['-machines=http://a:1,http://b:2'], {}, ['endpoint http://a:1 http://b:2', 'version 2']],
    [['-machines=http://a,https://b/'], {}, ['endpoint http://a:80 https://b:443']],
    [['-machines=http://[::1],http://[::1]:2379/'], {}, ['endpoint http://[::1]:80 http://[::1]:2379/']],
    [['-machines=http://u:p@a,http://a/b'], {}, ['endpoint http://u:p@a http://a/b']],
    [['-etcd3', '-machines=http://a'], {}, ['endpoint http://a', 'version 3']],
    // Their like is for `etcd` to refuse, which would not see what is taken off here.
    [['-machines=http://u:p@a,http://a?b,http://a#b'], {}, ['endpoint http://u:p@a http://a?b "http://a#b"']],
    [['-embedded=data'], {}, [`store ${resolve('data')}`]],
    [['-embedded=/d', '-api=off'], {}, ['store /d', 'api off']],
    [['-path-prefix=/a/b/'], {}, ['path /a/b']],
    [['-path-prefix='], { variables: { SKYDNS_PATH_PREFIX: 'a' } }, ['path /']],
    [[], { variables: { SKYDNS_PATH_PREFIX: '' } }, ['path /skydns']],
    [['-ca-cert=ca.pem'], {}, [`tls ${resolve('ca.pem')}`]],
    [['-ca-cert=/ca', '-tls-pem=/pem', '-tls-key=/key'], {}, ['tls /pem /key /ca']],
    [['-tls-pem=/pem', '-tls-key=/key'], {}, ['tls /pem /key']],
    [['-username=u'], { variables: { ETCD_PASSWORD: 'a b' } }, ['credentials u "a b"']],
    [['-username=u'], {}, ['credentials u ""']],
    [['-stubzones', '-domain=a.test'], {}, ['stub a.test {', 'etcd']],
    [['-hostmaster=a.b@c.test'], {}, ['hostmaster a.b.c.test.']],
    [['-local=l.skydns.local'], {}, ['local l.skydns.local.']],
    [[], { stored: { ttl: 1, min_ttl: 2, priority: 3, rcache_ttl: 4 } }, ['ttl 1', 'min_ttl 2', 'priority 3', 'rcache_ttl 4']],
    [['-rcache=5', '-rcache-ttl=6'], {}, ['cache {', 'success 5 2147483647 0', 'denial 5 2147483647 0', 'keep 6s', 'rcache_ttl 6']],
    [['-dnssec=/K a', '-scache=7'], {}, ['dnssec skydns.local {', 'key file "/K a"', 'denial nsec3', 'cache_capacity 7']],
    [['-verbose'], {}, ['log']],
    [[], { variables: { PROMETHEUS_PORT: '9153' } }, ['prometheus :9153 {', 'skydns skydns skydns']],
    [
      [],
      { variables: { PROMETHEUS_PORT: '9153', PROMETHEUS_PATH: '/m', PROMETHEUS_NAMESPACE: 'n', PROMETHEUS_SUBSYSTEM: 's' } },
      ['path /m', 'skydns n s']
    ]
  ])('%j %j', (argv, asked, expected) => {
    const { lines, notes } = made(argv, asked)
    expect(lines).toEqual(expect.arrayContaining(expected))
    expect(notes).toEqual([])
  })

  test.each<[string[], Asked, string]>([
    [['-round-robin=false'], {}, 'loadbalance'],
    [['-addr=0.0.0.0:53'], {}, 'bind'],
    [['-addr=[::]:53'], {}, 'bind'],
    [[], { stored: { dns_addr: ':53' } }, 'bind'],
    [[], { variables: { PROMETHEUS_PORT: '0' } }, 'prometheus'],
    [[], { variables: { PROMETHEUS_PORT: '00' } }, 'prometheus'],
    [['-rcache=5'], { stored: { rcache: 0 } }, 'cache']
  ])('%j %j is a line less', (argv, asked, gone) => {
    expect(made(argv, asked).lines.filter((line) => line.split(' ')[0] === gone)).toEqual([])
  })
})

describe('sockets that were passed count', () => {
  const passed = [
    { address: '127.0.0.1', port: 53 },
    { address: '127.0.0.2', port: 53 },
    { address: '127.0.0.1', port: 53 },
    { address: '::', port: 54, isDual: true },
    { address: '0.0.0.0', port: 55, isDual: false }
  ]
  test('with -systemd, a server block for each port', () => {
    const { lines } = made(['-systemd', '-addr=192.0.2.1:9'], { machine: { passed } })
    const places = lines.filter((line) => /^(\.:|bind)/.test(line))
    expect(places).toEqual(['.:53 {', 'bind 127.0.0.1 127.0.0.2', '.:54 {', '.:55 {', 'bind 0.0.0.0'])
  })

  test('without it, not', () => {
    expect(made([], { machine: { passed } }).lines).toContain('bind 127.0.0.1')
  })

  test('and are missed where there are none', () => {
    expect(() => made(['-systemd'])).toThrow('-systemd: no sockets were passed, expected some by LISTEN_FDS')
  })
})

describe('what is not as the settings have it is told', () => {
  const none = (why: string): string => `no name servers: ${why}, so names outside of the domain are answered with SERVFAIL`
  const circle = (what: string): string =>
    `${what} is this server itself, which has no answer where it asks itself: name others with -nameservers`
  const many = Array.from({ length: 17 }, (_, index) => `192.0.2.${index}:53`).join()
  test.each<[string[], Asked, string, string]>([
    [[], { machine: { resolvConf: undefined } }, 'forward . none {', none('there is no /etc/resolv.conf')],
    [[], { machine: { resolvConf: '# nameserver 192.0.2.1\nsearch a\n' } }, 'forward . none {', none('/etc/resolv.conf names none')],
    [[], { machine: { resolvConf: 'nameserver 127.0.0.1\n' } }, 'forward . /etc/resolv.conf {', circle('/etc/resolv.conf: 127.0.0.1:53')],
    [['-addr=[::]:5353', '-nameservers=192.0.2.1:53,[::1]:5353'], {}, '.:5353 {', circle('-nameservers: [::1]:5353')],
    [
      [`-nameservers=${many}`],
      {},
      `forward . ${many.split(',').slice(0, 15).join(' ')} {`,
      '-nameservers: of 17 name servers the first 15 are asked'
    ],
    [['-password=p'], {}, 'version 2', '-password has no effect without -username'],
    [['-api=off'], {}, 'version 2', '-api has no effect without -embedded'],
    [['-embedded=/d', '-etcd3'], {}, 'store /d', '-etcd3 has no effect beside -embedded'],
    [['-embedded=/d'], { variables: { ETCD_MACHINES: 'http://a:1' } }, 'store /d', 'ETCD_MACHINES has no effect beside -embedded'],
    [
      [],
      { variables: { PROMETHEUS_PORT: 'tcp://10.0.0.1:9090' } },
      'version 2',
      'PROMETHEUS_PORT has no effect: expected a port from 1 to 65535, or 0 for none, not "tcp://10.0.0.1:9090"'
    ],
    [['-scache=0', '-dnssec=/K'], {}, 'cache_capacity 1', '-scache: one signature is kept, as there has to be room for one'],
    [
      ['-dnssec=/Kskydns.local.+005+12345'],
      {},
      'denial nsec',
      '-dnssec: a key of algorithm 5 does not go with NSEC3 (RFC 5155 §2), so what does not exist is proven with NSEC: make another key'
    ]
  ])('%j %j', (argv, asked, expected, note) => {
    const { lines, notes } = made(argv, asked)
    expect(lines).toContain(expected)
    expect(notes).toEqual([note])
  })
})

test.each([[['-addr=127.0.0.1:5353']], [['-addr=127.0.0.2:53']], [['-nameservers=192.0.2.1:53']]])(
  'a name server that is another is none to tell of: %j',
  (argv) => {
    expect(made(argv, { machine: { resolvConf: 'nameserver 127.0.0.1\nnameserver nowhere\n' } }).notes).toEqual([])
  }
)

describe('what is wrong names who has said it', () => {
  const address = 'expected an address and a port such as 127.0.0.1:53 or [::1]:53, not'
  test.each<[string[], Asked, string]>([
    [['-addr=127.0.0.1'], {}, `-addr: ${address} "127.0.0.1": its port is missing`],
    [['-addr=::1:53'], {}, `-addr: ${address} "::1:53"`],
    [['-addr=localhost:53'], {}, `-addr: ${address} "localhost:53"`],
    [['-addr=127.0.0.1:0'], {}, '-addr: expected a port from 1 to 65535, as in 127.0.0.1:53, not "127.0.0.1:0"'],
    [['-addr=127.0.0.1:65536'], {}, '-addr: expected a port from 1 to 65535'],
    [[], { variables: { SKYDNS_ADDR: 'x' } }, `SKYDNS_ADDR: ${address} "x"`],
    [[], { stored: { dns_addr: 'x' } }, `/skydns/config: ${address} "x"`],
    [['-nameservers=192.0.2.1'], {}, `-nameservers: name servers: ${address} "192.0.2.1": its port is missing`],
    [['-nameservers=:53'], {}, '-nameservers: name servers: expected an address too, not ":53"'],
    [[], { stored: { nameservers: ['ns.test:53'] } }, `/skydns/config: name servers: ${address} "ns.test:53"`],
    [['-tls-pem=/pem'], {}, '-tls-pem: a certificate and its key go together, expected -tls-key too'],
    [['-tls-key=/key'], {}, '-tls-key: a certificate and its key go together, expected -tls-pem too'],
    [['-machines=,'], {}, '-machines: expected a URL such as http://127.0.0.1:2379'],
    [['-domain=sky.test '], {}, '-domain: expected a name without white space, not "sky.test "'],
    [[], { variables: { SKYDNS_DOMAIN: 'sky.test\r' } }, 'SKYDNS_DOMAIN: expected a name without white space, not "sky.test\\r"'],
    [['-local=a b'], {}, '-local: expected a name without white space, not "a b"'],
    [[], { stored: { hostmaster: 'a@b.test\n' } }, '/skydns/config: expected a name without white space, not "a@b.test\\n"'],
    [['-username={$USER}'], {}, '-username: a Corefile cannot hold what is said here, expected no {$ or {% and no backslash at the end'],
    [['-username=u', '-password=a b\\'], {}, '-username, -password: a Corefile cannot hold what is said here'],
    [[], { stored: { dns_addr: 'x'.repeat(100) } }, `/skydns/config: ${address} "${'x'.repeat(60)}…"`],
    [[], { stored: { nameservers: ['x'.repeat(100)] } }, `/skydns/config: name servers: ${address} "${'x'.repeat(60)}…"`]
  ])('%j %j', (argv, asked, problem) => {
    expect(() => made(argv, asked)).toThrow(problem)
  })
})

test('whoever has said a line is known behind words of several lines', () => {
  const settings = settle(
    givenBy(readFlags(['-username=a\nb\nc', '-path-prefix=l', '-nameservers=192.0.2.1:53']).flags, {}, () => {}),
    new Map()
  )
  const [block] = corefileOf(settings, MACHINE).blocks
  const named = block!.directives.flatMap((directive) => [directive, ...directive.options])
  const sayers = ['credentials', 'path', 'forward'].map((name) => named.find((each) => each.name === name)?.at.file)
  expect(sayers).toEqual(['skydns (-username)', 'skydns (-path-prefix)', 'skydns (-nameservers)'])
})
