import { describe, expect, test } from 'vitest'
import { givenBy, readFlags } from './given.js'
import { NAMES, SPECS, type Spec, settle } from './settings.js'

function said(argv: readonly string[], variables: Record<string, string> = {}): { given: Record<string, unknown>; warnings: string[] } {
  const warnings: string[] = []
  const given = givenBy(readFlags(argv).flags, variables, (text) => warnings.push(text))
  return { given: Object.fromEntries([...given].map(([name, { value, from }]) => [name, [value, from]])), warnings }
}

test('SkyDNS’s flags are all there, and ours', () => {
  const flags = NAMES.map((name) => (SPECS[name] as Spec).flag).filter((flag) => flag !== undefined)
  // biome-ignore format: a list
  expect(flags.sort()).toEqual([
    'addr', 'api', 'ca-cert', 'dnssec', 'domain', 'embedded', 'etcd3', 'hostmaster', 'local', 'machines', 'nameservers', 'ndots', 'no-rec',
    'ns-rotate', 'password', 'path-prefix', 'rcache', 'rcache-ttl', 'round-robin', 'rtimeout', 'scache', 'stubzones', 'systemd',
    'tls-key', 'tls-pem', 'username', 'verbose'
  ])
})

describe('flags are read as Go reads them', () => {
  test.each<[string[], Record<string, unknown>]>([
    [['-domain', 'a.test'], { domain: ['a.test', '-domain'] }],
    [['--domain=a.test'], { domain: ['a.test', '-domain'] }],
    [['-domain=a.test', '-domain', 'b.test'], { domain: ['b.test', '-domain'] }],
    [['-domain='], { domain: ['', '-domain'] }],
    [['-stubzones'], { stubzones: [true, '-stubzones'] }],
    [
      ['-round-robin=false', '-ns-rotate=F', '-no-rec=1', '-verbose=TRUE'],
      {
        roundRobin: [false, '-round-robin'],
        nsRotate: [false, '-ns-rotate'],
        noRec: [true, '-no-rec'],
        verbose: [true, '-verbose']
      }
    ],
    [['-machines', 'http://a:1, http://b:2,'], { machines: [['http://a:1', 'http://b:2'], '-machines'] }],
    [['-ndots', '3'], { ndots: [3, '-ndots'] }],
    [['-rcache', '0x10'], { rcache: [16, '-rcache'] }],
    [['-rcache', '010'], { rcache: [8, '-rcache'] }],
    [['-rcache', '-5'], { rcache: [-5, '-rcache'] }],
    [['-rtimeout', '1m0.5s'], { readTimeout: [60_500, '-rtimeout'] }],
    [['-rtimeout=0'], { readTimeout: [0, '-rtimeout'] }]
  ])('%j', (argv, expected) => {
    expect(said(argv)).toEqual({ given: expected, warnings: [] })
  })

  test.each([
    [['-ndots', 'two'], '-ndots: expected a whole number, at most 127, not "two"'],
    [['-ndots', '1e2'], '-ndots: expected a whole number, at most 127, not "1e2"'],
    [['-rcache', '99999999999'], '-rcache: expected a whole number, at most 2147483647, 0 for none, not "99999999999"'],
    [['-rtimeout', '5'], '-rtimeout: expected a duration such as 2s or 500ms, from 1ms to 1h, not "5"'],
    [['-rtimeout', '-5s'], '-rtimeout: expected a duration such as 2s or 500ms, from 1ms to 1h, not "-5s"'],
    [['-verbose=yes'], '-verbose: expected no value, or true or false, not "yes"'],
    [['-addr'], '-addr: expected IP:PORT after it'],
    [
      ['-verbose', 'true', '-addr', 'x'],
      'skydns: expected flags alone, not "true": a flag that is on or off has it behind a =, as in -verbose=true'
    ],
    [['domain', 'a'], 'skydns: expected flags alone, not "domain": did you mean -domain?']
  ])('%j is refused', (argv, problem) => {
    expect(() => said(argv)).toThrow(problem)
  })

  test('an unknown one is refused, with all that there are', () => {
    expect(() => said(['-backend', 'x'])).toThrow(/^unknown flag -backend, expected one of -domain, -addr, /)
  })
})

describe('variables count', () => {
  test('where there is no flag', () => {
    const variables = {
      ETCD_MACHINES: 'http://a:1,http://b:2',
      ETCD_TLSKEY: 'key',
      ETCD_TLSPEM: 'pem',
      ETCD_CACERT: 'ca',
      ETCD_USERNAME: 'user',
      ETCD_PASSWORD: 'secret',
      SKYDNS_ADDR: '127.0.0.2:53',
      SKYDNS_DOMAIN: 'a.test',
      SKYDNS_NAMESERVERS: '192.0.2.1:53',
      SKYDNS_PATH_PREFIX: 'sky',
      SKYDNS_SYSTEMD: 'true',
      SKYDNS_NDOTS: '1',
      PROMETHEUS_PORT: '9153',
      PROMETHEUS_PATH: '/m',
      PROMETHEUS_NAMESPACE: 'n',
      PROMETHEUS_SUBSYSTEM: 's'
    }
    const { given, warnings } = said(['-addr', '127.0.0.3:53'], variables)
    expect(warnings).toEqual([])
    expect(
      Object.values(given)
        .map((each) => (each as unknown[])[1])
        .sort()
    ).toEqual([...Object.keys(variables).filter((name) => name !== 'SKYDNS_ADDR'), '-addr'].sort())
    expect(given).toMatchObject({ addr: ['127.0.0.3:53', '-addr'], ndots: [1, 'SKYDNS_NDOTS'], systemd: [true, 'SKYDNS_SYSTEMD'] })
  })

  test('and are not empty; a wrong one has no effect, as in SkyDNS, and a line says so', () => {
    expect(said([], { SKYDNS_DOMAIN: '', SKYDNS_NDOTS: 'x', SKYDNS_SYSTEMD: 'on' })).toEqual({
      given: {},
      warnings: [
        'SKYDNS_SYSTEMD has no effect: expected true or false, not "on"',
        'SKYDNS_NDOTS has no effect: expected a whole number, at most 127, not "x"'
      ]
    })
  })
})

describe('what is nothing stands for the default, as in SkyDNS', () => {
  test.each<[string[], string, unknown]>([
    [['-ndots=0'], 'ndots', 2],
    [['-ndots=-1'], 'ndots', 2],
    [['-rcache-ttl=0'], 'rcacheTtl', 60],
    [['-rtimeout=0'], 'readTimeout', 2000],
    [['-domain='], 'domain', 'skydns.local.'],
    [['-rcache=-1'], 'rcache', 0],
    [['-scache=-1'], 'scache', 0]
  ])('%j', (argv, name, expected) => {
    const settings = settle(
      givenBy(readFlags(argv).flags, {}, () => {}),
      new Map()
    )
    expect(settings[name as keyof typeof settings].value).toEqual(expected)
  })
})
