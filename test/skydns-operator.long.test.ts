/** A start line of SkyDNS with all its flags and its environment, on an etcd with certificates and users: what is understood, and what comes of it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateKeyPair } from 'skein/plugin'
import { type Answer, type AskOptions, readAnswer, requestOctets } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from './certificates.js'
import { openClient } from './dns-client.js'
import { type Etcd, startEtcd } from './etcd.js'
import { type EtcdTarget, enableAuthV2, etcdV2 } from './etcd-calls.js'
import { freePort, type Running, temporaryFolder } from './processes.js'
import { startSkydns } from './skydns-command.js'
import { needs } from './tools.js'
import { startStandIn, type Upstream } from './upstream.js'

const PASSWORD = 'päss:wörd'
/** Of the services here. */
const TOP = '/sky/test/op'

describe('all flags and variables of SkyDNS', needs('etcd', 'openssl'), () => {
  let certificates: Certificates
  let etcd: Etcd
  let writer: EtcdTarget
  let outside: Upstream
  let stub: Upstream
  let server: Running
  let port: number
  let numbers: number
  let away: number
  let keyBase: string
  const folder = temporaryFolder()

  beforeAll(async () => {
    certificates = await makeCertificates()
    const { authority, server: own } = certificates
    ;[etcd, outside, stub, port, numbers, away] = await Promise.all([
      startEtcd({ tls: { authority, server: own, clients: authority } }),
      startStandIn(),
      startStandIn({ answer: ({ qname }) => ({ rcode: 'NOERROR', answer: [`${qname} 60 A 192.0.2.77`] }) }),
      freePort(),
      freePort(),
      freePort()
    ])
    const root = await enableAuthV2(etcd.target, 'skydns', PASSWORD, '/sky')
    writer = { ...etcd.target, credentials: root }
    const pair = await generateKeyPair('op.test', 13)
    writeFileSync(join(folder.path, `${pair.name}.key`), pair.publicText)
    writeFileSync(join(folder.path, `${pair.name}.private`), pair.privateText)
    keyBase = pair.name
    const object = {
      dns_addr: `127.0.0.1:${port}`,
      // For SkyDNS blanks stand for plus signs.
      dnssec: keyBase.replaceAll('+', ' '),
      nameservers: [`127.0.0.1:${outside.port}`],
      ttl: 300,
      min_ttl: 30,
      priority: 20,
      read_timeout: 1_000_000_000,
      etcd3: true
    }
    const entries = [
      ['/sky/config', JSON.stringify(object)],
      [`${TOP}/east/web/1`, '{"host":"10.0.0.1","port":80}'],
      [`${TOP}/east/web/2`, '{"host":"10.0.0.2","port":80}'],
      [`${TOP}/east/out`, '{"host":"host.example.org"}'],
      [`${TOP}/dns/ns/a`, '{"host":"10.0.0.53"}'],
      [`${TOP}/dns/stub/example/one/a`, JSON.stringify({ host: '127.0.0.1', port: stub.port })],
      ['/sky/arpa/in-addr/10/0/0/1', '{"host":"1.web.east.op.test"}']
    ] as const
    await Promise.all(entries.map(([path, value]) => etcdV2(writer).put(path, value)))
    server = await startSkydns(
      [
        '-domain=Op.Test.',
        `-addr=127.0.0.1:${away}`,
        '--nameservers',
        '127.0.0.1:9,127.0.0.1:10',
        '-no-rec=false',
        `-machines=https://127.0.0.1:${away},${etcd.endpoints.join()}`,
        '-dnssec=Kother.+013+00001',
        '-local',
        '1.web.east.op.test',
        `-tls-key=${certificates.client.keyFile}`,
        `-tls-pem=${certificates.client.certificateFile}`,
        `-ca-cert=${authority.certificateFile}`,
        '-username=skydns',
        '-rtimeout=3s',
        '-round-robin=F',
        '-ns-rotate=0',
        '-stubzones',
        '-verbose=true',
        '-systemd=false',
        '-hostmaster=dns.admin@op.test',
        '-scache=500',
        '-rcache=1000',
        '-rcache-ttl=45',
        '-ndots=1',
        '-path-prefix=sky',
        '-etcd3=false',
        '-discover'
      ],
      folder.path,
      {
        ETCD_MACHINES: 'http://127.0.0.1:1',
        ETCD_TLSKEY: 'none.key',
        ETCD_TLSPEM: 'none.pem',
        ETCD_CACERT: 'none.crt',
        ETCD_USERNAME: 'nobody',
        ETCD_PASSWORD: PASSWORD,
        SKYDNS_ADDR: '192.0.2.1:53',
        SKYDNS_DOMAIN: 'other.test',
        SKYDNS_NAMESERVERS: '192.0.2.1:53',
        SKYDNS_PATH_PREFIX: 'other',
        SKYDNS_SYSTEMD: 'true',
        SKYDNS_NDOTS: '5',
        PROMETHEUS_PORT: `${numbers}`,
        PROMETHEUS_PATH: '/numbers',
        PROMETHEUS_NAMESPACE: 'old',
        PROMETHEUS_SUBSYSTEM: 'dns'
      }
    )
    await server.prints(/in step with etcd/)
  }, 60_000)
  afterAll(async () => {
    await Promise.all([server?.stop(), etcd?.stop(), outside?.stop(), stub?.stop()])
    folder.remove()
  })

  async function ask(question: string, options: AskOptions = {}): Promise<Answer> {
    const client = await openClient('udp', { address: '127.0.0.1', port })
    try {
      return readAnswer(await client.ask(requestOctets(question, { edns: 4096, ...options })))
    } finally {
      client.close()
    }
  }

  test('are told in the log, each with who has said it', () => {
    const lines = server.output().split('\n')
    expect(lines.filter((line) => /^\[\w+\] (?!plugin\/|\d)/.test(line))).toEqual([
      '[WARNING] -discover has no effect: name the members of the cluster with -machines',
      '[WARNING] /sky/config: etcd3 has no effect: how etcd is read is decided before it is: by -etcd3',
      '[INFO] domain is Op.Test. (-domain)',
      `[INFO] dns_addr is 127.0.0.1:${port} (/sky/config), and not 127.0.0.1:${away} (-addr)`,
      '[INFO] systemd is false (-systemd)',
      `[INFO] nameservers is 127.0.0.1:${outside.port} (/sky/config), and not 127.0.0.1:9,127.0.0.1:10 (-nameservers)`,
      '[INFO] no_rec is false (-no-rec)',
      '[INFO] ndot is 1 (-ndots)',
      '[INFO] ns_rotate is false (-ns-rotate)',
      '[INFO] read_timeout is 1s (/sky/config), and not 3s (-rtimeout)',
      `[INFO] -machines is https://127.0.0.1:${away},${etcd.endpoints.join()} (-machines)`,
      '[INFO] -etcd3 is false (-etcd3)',
      '[INFO] -path-prefix is sky (-path-prefix)',
      `[INFO] -ca-cert is ${certificates.authority.certificateFile} (-ca-cert)`,
      `[INFO] -tls-pem is ${certificates.client.certificateFile} (-tls-pem)`,
      `[INFO] -tls-key is ${certificates.client.keyFile} (-tls-key)`,
      '[INFO] -username is skydns (-username)',
      '[INFO] -password is given (ETCD_PASSWORD)',
      '[INFO] -stubzones is true (-stubzones)',
      '[INFO] hostmaster is dns.admin@op.test (-hostmaster)',
      '[INFO] local is 1.web.east.op.test (-local)',
      '[INFO] ttl is 300 (/sky/config)',
      '[INFO] min_ttl is 30 (/sky/config)',
      '[INFO] priority is 20 (/sky/config)',
      '[INFO] round_robin is false (-round-robin)',
      '[INFO] rcache is 1000 (-rcache)',
      '[INFO] rcache_ttl is 45 (-rcache-ttl)',
      `[INFO] dnssec is ${keyBase.replaceAll('+', ' ')} (/sky/config), and not Kother.+013+00001 (-dnssec)`,
      '[INFO] scache is 500 (-scache)',
      '[INFO] -verbose is true (-verbose)',
      `[INFO] PROMETHEUS_PORT is ${numbers} (PROMETHEUS_PORT)`,
      '[INFO] PROMETHEUS_PATH is /numbers (PROMETHEUS_PATH)',
      '[INFO] PROMETHEUS_NAMESPACE is old (PROMETHEUS_NAMESPACE)',
      '[INFO] PROMETHEUS_SUBSYSTEM is dns (PROMETHEUS_SUBSYSTEM)'
    ])
    for (const line of [
      `plugin/prometheus: http://[::]:${numbers}/numbers`,
      `plugin/dnssec: signs op.test. with ${keyBase}`,
      'in step with etcd: 7 keys'
    ])
      expect(server.output()).toContain(line)
    expect(server.output()).not.toContain(PASSWORD)
  })

  const ns = 'op.test. 30 SOA ns.dns.op.test. dns.admin.op.test.'
  test.each<[string, string, string[], string[]]>([
    ['a service, with the TTL of the object', '1.web.east.op.test. A', ['1.web.east.op.test. 300 A 10.0.0.1'], []],
    [
      'several, in the order of their keys, with the object’s priority',
      'web.east.op.test. SRV',
      ['web.east.op.test. 300 SRV 20 50 80 1.web.east.op.test.', 'web.east.op.test. 300 SRV 20 50 80 2.web.east.op.test.'],
      []
    ],
    ['what local.dns stands for', 'local.dns.op.test. A', ['local.dns.op.test. 300 A 10.0.0.1'], []],
    [
      'a target outside, through the object’s name server',
      'out.east.op.test. A',
      ['out.east.op.test. 45 CNAME host.example.org.', 'host.example.org. 45 A 198.51.100.7'],
      []
    ],
    ['the name of an address', '1.0.0.10.in-addr.arpa. PTR', ['1.0.0.10.in-addr.arpa. 300 PTR 1.web.east.op.test.'], []],
    ['the server of the domain', 'op.test. NS', ['op.test. 300 NS a.ns.dns.op.test.'], []],
    ['a name outside', 'host.example.org. A', ['host.example.org. 300 A 198.51.100.7'], []],
    ['a name of one label, for ndots 1', 'nothing. A', [], []],
    ['a name in a stub zone', 'x.one.example. A', ['x.one.example. 60 A 192.0.2.77'], []],
    ['a name that is not there', 'no.op.test. A', [], [ns]]
  ])('%s is answered', async (_title, question, answer, authority) => {
    const got = await ask(question)
    expect(got.answer).toEqual(answer)
    if (authority.length > 0) expect(got.authority.map((record) => record.split(' ').slice(0, 5).join(' '))).toEqual(authority)
  })

  test('stub zones come and go while it runs', async () => {
    const path = `${TOP}/dns/stub/example/two/a`
    const isForwarded = async (): Promise<boolean> => (await ask('x.two.example. A')).answer.length > 0
    expect(await isForwarded()).toBe(false)
    await etcdV2(writer).put(path, JSON.stringify({ host: '127.0.0.1', port: stub.port }))
    await until(isForwarded)
    await etcdV2(writer).delete(path)
    await until(async () => !(await isForwarded()))
  })

  test('the domain is signed by the object’s key, and what is not there is denied by NSEC3', async () => {
    const there = await ask('2.web.east.op.test. A', { dnssecOk: true })
    expect(there.answer.map((record) => record.split(' ').slice(0, 5).join(' '))).toEqual([
      '2.web.east.op.test. 300 A 10.0.0.2',
      expect.stringMatching(/^2\.web\.east\.op\.test\. 300 RRSIG A 13$/)
    ])
    const not = await ask('no.op.test. A', { dnssecOk: true })
    expect(not.rcode).toBe('NXDOMAIN')
    expect(not.authority.filter((record) => record.split(' ')[2] === 'NSEC3')).toHaveLength(3)
  })

  test('SkyDNS’s numbers are read where the variables say, and queries are in the log', async () => {
    await ask('1.web.east.op.test. A')
    const text = await (await fetch(`http://127.0.0.1:${numbers}/numbers`)).text()
    for (const system of ['auth', 'cache', 'recursive', 'reverse', 'stub'])
      expect(text).toMatch(new RegExp(`^old_dns_dns_request_count_total\\{system="${system}"\\} [1-9]`, 'm'))
    expect(text).toMatch(/^old_dns_dns_error_count_total\{system="auth",cause="nxdomain"\} [1-9]/m)
    expect(text).toMatch(/^old_dns_dns_cachemiss_count_total\{cache="signature"\} [1-9]/m)
    expect(server.output()).toMatch(/"A IN 1\.web\.east\.op\.test\. udp \d+ false 4096" NOERROR/)
  })
})

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await isSo()); await sleep(20)) {
    if (Date.now() > deadline) throw new Error('it is not so within 10 s')
  }
}
