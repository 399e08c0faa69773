import { createHook } from 'node:async_hooks'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AskOptions, requestOctets, serverOf, TestClock, type TestServer, TestSlot } from 'skein/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { MOST_ZONES } from './traffic.js'
import { MOST_RCODES } from './zone-traffic.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-metrics-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'Corefile')

let installed = 0

/** Installs a plugin whose handler is this text; gives its directive. */
function plugin(handle: string): string {
  const name = `fake-${++installed}`
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(
    join(at, 'index.js'),
    `export default { name: '${name}', api: 1, classes: ['*'], setup: (config, host) => ({ handle: ${handle} }) }`
  )
  return name
}

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function started(corefile: string, clock = new TestClock()): Promise<TestServer> {
  const server = await serverOf(corefile, { file, clock })
  servers.push(server)
  return server
}

/** Where the numbers of a server are, as its log says. */
function endOf({ log }: TestServer): string {
  return /http:\S+/.exec(log.lines.join('\n'))?.[0] ?? 'http://127.0.0.1:9/not-there'
}

interface Response {
  readonly status: number | undefined
  readonly type: string | undefined
  readonly text: string
}

function get(url: string, method = 'GET'): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('end', () => resolve({ status: response.statusCode, type: response.headers['content-type'], text }))
    })
    sent.once('error', reject).end()
  })
}

/** The lines of `coredns_dns_…` without this beginning; of histograms sum and count alone. */
async function numbers(server: TestServer): Promise<string[]> {
  const { text } = await get(endOf(server))
  return text.split('\n').flatMap((line) => (line.startsWith('coredns_dns_') && !line.includes('_bucket') ? [line.slice(12)] : []))
}

const at = 'server="dns://127.0.0.1:53",zone=".",view=""'
const client = { endpoint: '127.0.0.1:53' }

test('each server block that counts tells its plugins, in the order of its chain', async () => {
  const server = await started(`a.test b.test:54 {
  bind 127.0.0.1
  whoami
  whoami
  log
  prometheus 127.0.0.1:0
}
c.test {
  prometheus 127.0.0.1:0
  cache
}
d.test {
  whoami
}`)
  const { text } = await get(endOf(server))
  const lines = text.split('\n').filter((line) => line.startsWith('coredns_plugin_enabled{'))
  const of = (place: string, zone: string, name: string): string =>
    `coredns_plugin_enabled{server="dns://${place}",zone="${zone}",view="",name="${name}"} 1`
  expect(lines).toEqual([
    ...['prometheus', 'log', 'whoami'].map((name) => of('127.0.0.1:53', 'a.test.', name)),
    ...['prometheus', 'log', 'whoami'].map((name) => of('127.0.0.1:54', 'b.test.', name)),
    ...['prometheus', 'cache'].map((name) => of(':53', 'c.test.', name))
  ])
})

describe('a query is counted', () => {
  test('once in each', async () => {
    const clock = new TestClock()
    const slow = plugin('async (query) => { await new Promise((resolve) => host.clock.after(3, resolve)); return query.reply({}) }')
    const server = await started(`. {\n  prometheus 127.0.0.1:0\n  ${slow}\n}`, clock)
    expect(await numbers(server)).toEqual([])
    const asked = server.ask('example.org. A', { client, dnssecOk: true })
    clock.advance(3)
    await asked
    expect(await numbers(server)).toEqual([
      `requests_total{${at},proto="udp",family="1",type="A"} 1`,
      `request_duration_seconds_sum{${at}} 0.003`,
      `request_duration_seconds_count{${at}} 1`,
      `request_size_bytes_sum{${at},proto="udp"} 40`,
      `request_size_bytes_count{${at},proto="udp"} 1`,
      `response_size_bytes_sum{${at},proto="udp"} 40`,
      `response_size_bytes_count{${at},proto="udp"} 1`,
      `do_requests_total{${at}} 1`,
      `responses_total{${at},rcode="NOERROR",plugin=""} 1`
    ])
    const { text } = await get(endOf(server))
    const buckets = [...text.matchAll(/^coredns_dns_(\w+)_bucket\{.*le="([^"]+)"\} 0$/gm)].map(([, name, bound]) => `${name} ${bound}`)
    expect(buckets).toEqual([
      'request_duration_seconds 0.00025',
      'request_duration_seconds 0.0005',
      'request_duration_seconds 0.001',
      'request_duration_seconds 0.002',
      'request_size_bytes 0',
      'response_size_bytes 0'
    ])
    expect(text).toContain(`request_duration_seconds_bucket{${at},le="8.192"} 1`)
    expect(text).toContain(`response_size_bytes_bucket{${at},proto="udp",le="64000"} 1`)
  })

  test.each<[string, string, AskOptions, string]>([
    ['of another type', 'example.org. HTTPS', {}, 'proto="udp",family="1",type="HTTPS"'],
    ['of a type that has no label', 'example.org. CAA', {}, 'proto="udp",family="1",type="other"'],
    ['of a type without a name', 'example.org. TYPE65280', {}, 'proto="udp",family="1",type="other"'],
    ['of another class', 'version.bind. TXT CH', {}, 'proto="udp",family="1",type="TXT"'],
    ['by TCP', 'example.org. A', { client: { transport: 'tcp' } }, 'proto="tcp",family="1",type="A"'],
    ['by IPv6', 'example.org. A', { client: { address: '2001:db8::1', local: '2001:db8::53' } }, 'proto="udp",family="2",type="A"']
  ])('%s', async (_title, question, options, labels) => {
    const server = await started('. {\n  prometheus 127.0.0.1:0\n  whoami\n}')
    await server.ask(question, { ...options, client: { ...client, ...options.client } })
    expect(await numbers(server)).toContain(`requests_total{${at},${labels}} 1`)
  })

  test.each<[string, object, string]>([
    ['one address', { endpoint: '192.0.2.53:53' }, 'dns://192.0.2.53:53'],
    ['an IPv6 address', { endpoint: '[::1]:1053' }, 'dns://[::1]:1053'],
    ['all addresses', { local: '192.0.2.53', endpoint: ':53' }, 'dns://:53'],
    ['TLS', { endpoint: ':853', transport: 'tls' }, 'tls://:853'],
    ['an address alone', { local: '192.0.2.53' }, 'dns://192.0.2.53']
  ])('at %s', async (_title, asked, shown) => {
    const server = await started('. {\n  prometheus 127.0.0.1:0\n  whoami\n}')
    await server.ask('example.org. A', { client: asked })
    expect((await numbers(server))[0]).toContain(`requests_total{server="${shown}",zone=".",view="",`)
  })

  test.each<[string, string, string[]]>([
    ['that failed', '() => { throw new Error("boom") }', ['rcode="SERVFAIL"']],
    ['that has no such name', '(query) => query.reply({ rcode: "NXDOMAIN" })', ['rcode="NXDOMAIN"']],
    ['whose rcode has no name', '(query) => query.reply({ rcode: "RCODE12" })', ['rcode="RCODE12"']],
    ['that nobody answers', '(query, next) => next(query)', ['rcode="REFUSED"']],
    ['that was dropped, without a response', '() => Symbol.for("skein.drop")', []]
  ])('%s', async (_title, handle, rcodes) => {
    const server = await started(`. {\n  prometheus 127.0.0.1:0\n  errors\n  ${plugin(handle)}\n}`)
    await server.ask('example.org. A', { client }).catch(() => {})
    const lines = await numbers(server)
    expect(lines.filter((line) => line.startsWith('responses_total'))).toEqual(
      rcodes.map((rcode) => `responses_total{${at},${rcode},plugin=""} 1`)
    )
    expect(lines.filter((line) => line.startsWith('response_size_bytes_count'))).toHaveLength(rcodes.length)
    expect(lines).toContain(`requests_total{${at},proto="udp",family="1",type="A"} 1`)
  })
})

describe('faults are counted', () => {
  test.each<[string, string, number]>([
    ['a throw', '() => { throw new Error("boom") }', 1],
    ['a forgotten reply, later', 'async () => {}', 1],
    [
      'a throw in a look-up, whose asker goes on',
      '(query) => { if (query.depth > 0) throw new Error("boom"); return host.resolve(query.ask("b.example.", "A")) }',
      1
    ],
    ['no failing upstream', '(query) => query.fail("SERVFAIL", "upstream-failed", { problem: "timeout" })', 0]
  ])('%s', async (_title, handle, count) => {
    const server = await started(`. {\n  prometheus 127.0.0.1:0\n  errors\n  ${plugin(handle)}\n}`)
    await server.ask('a.example. A', { client })
    expect((await get(endOf(server))).text).toContain(`\ncoredns_panics_total ${count}\n`)
    // The look-up itself is no query of a client.
    expect(await numbers(server)).toContain(`requests_total{${at},proto="udp",family="1",type="A"} 1`)
  })
})

describe('no client can make labels', () => {
  test('by many zones', async () => {
    const zones = Array.from({ length: MOST_ZONES + 2 }, (_, i) => `z${i}.example`)
    const server = await started(`${zones.join(' ')} {\n  prometheus 127.0.0.1:0\n  whoami\n}`)
    for (const zone of zones) for (const type of ['A', 'AAAA']) await server.ask(`${zone}. ${type}`, { client })
    const lines = (await numbers(server)).filter((line) => line.startsWith('request_duration_seconds_count'))
    expect(lines).toHaveLength(MOST_ZONES + 1)
    expect(lines.slice(-2)).toEqual([
      `request_duration_seconds_count{server="dns://127.0.0.1:53",zone="z${MOST_ZONES - 1}.example.",view=""} 2`,
      'request_duration_seconds_count{server="other",zone="other",view=""} 4'
    ])
  })

  test('by names and types', async () => {
    const server = await started('. {\n  prometheus 127.0.0.1:0\n  whoami\n}')
    for (let i = 0; i < 300; i++) await server.ask(`n${i}.example. TYPE${i + 300}`, { client })
    expect((await numbers(server)).slice(0, 2)).toEqual([
      `requests_total{${at},proto="udp",family="1",type="other"} 300`,
      `request_duration_seconds_sum{${at}} 0`
    ])
  })

  test('by rcodes', async () => {
    const rcodes = plugin('(query) => query.reply({ rcode: "RCODE" + (100 + Number(query.qname.slice(1, -1))) })')
    const server = await started(`. {\n  prometheus 127.0.0.1:0\n  ${rcodes}\n}`)
    for (let i = 0; i < MOST_RCODES + 5; i++) await server.ask(`n${i}. A`, { client, edns: 1232 })
    const lines = (await numbers(server)).filter((line) => line.startsWith('responses_total'))
    expect(lines).toHaveLength(MOST_RCODES + 1)
    expect(lines.at(-1)).toBe(`responses_total{${at},rcode="other",plugin=""} 5`)
  })
})

describe('the numbers are read by HTTP', () => {
  test('at /metrics, as text', async () => {
    const server = await started('. {\n  prometheus 127.0.0.1:0\n}')
    const { status, type, text } = await get(`${endOf(server)}?name=x`)
    expect({ status, type }).toEqual({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' })
    expect(text).toContain(`\ncoredns_build_info{version="Skein-test",revision="",goversion="${process.version}"} 1\n`)
    expect(text).toContain('\ncoredns_panics_total 0\n')
    expect(text).toMatch(/\nprocess_resident_memory_bytes \d+\n/)
    expect(text).toMatch(/\nnodejs_version_info\{/)
    expect(await get(endOf(server), 'HEAD')).toEqual({ status, type, text: '' })
  })

  test.each([
    ['/', 'GET', 404],
    ['/metrics/', 'GET', 404],
    ['/metricsx', 'GET', 404],
    ['/metrics', 'POST', 405]
  ])('not at %s by %s', async (path, method, status) => {
    const server = await started('. {\n  prometheus 127.0.0.1:0\n}')
    expect(await get(endOf(server).replace('/metrics', path), method)).toMatchObject({ status })
  })

  test('and by others on the same address too, all queries together', async () => {
    const block = '  prometheus localhost:0\n  whoami\n'
    const server = await started(`a.example b.example {\n${block}}\nc.example {\n${block}}\nd.example {\n  whoami\n}`)
    expect(server.log.lines).toHaveLength(1)
    for (const zone of ['a', 'b', 'c', 'd']) await server.ask(`www.${zone}.example. A`, { client })
    expect((await numbers(server)).filter((line) => line.startsWith('requests_total'))).toEqual(
      ['a', 'b', 'c'].map(
        (zone) => `requests_total{server="dns://127.0.0.1:53",zone="${zone}.example.",view="",proto="udp",family="1",type="A"} 1`
      )
    )
  })

  test('and on every address all of them', async () => {
    const server = await started(
      'a.example {\n  prometheus 127.0.0.1:0\n  whoami\n}\nb.example {\n  prometheus [::ffff:127.0.0.1]:0\n  whoami\n}'
    )
    const ends = server.log.lines.map((line) => /http:\S+/.exec(line)?.[0])
    expect(new Set(ends).size).toBe(2)
    await server.ask('b.example. A', { client })
    expect((await get(ends[0]!)).text).toContain('zone="b.example."')
  })

  test('at another path, and not at /metrics', async () => {
    const server = await started('. {\n  prometheus 127.0.0.1:0 {\n    path /a/numbers_1.txt\n  }\n}')
    const end = endOf(server)
    expect(new URL(end).pathname).toBe('/a/numbers_1.txt')
    expect(await get(end)).toMatchObject({ status: 200, text: expect.stringContaining('coredns_build_info') })
    expect(await get(end.replace('/a/numbers_1.txt', '/metrics'))).toMatchObject({ status: 404, text: 'there is /a/numbers_1.txt alone\n' })
  })

  test('at each path that server blocks name on one address, the same numbers', async () => {
    const block = (zone: string, more: string): string => `${zone} {\n  prometheus 127.0.0.1:0${more}\n  whoami\n}\n`
    const server = await started(block('a.example', '') + block('b.example', ' {\n    path /b\n  }') + block('c.example', ''))
    await server.ask('a.example. A')
    const ends = server.log.lines.map((line) => /http:\S+/.exec(line)![0])
    expect(ends).toEqual([ends[0], ends[0]!.replace('/metrics', '/b')])
    for (const end of ends) expect((await get(end)).text).toMatch(/coredns_dns_requests_total\{.*zone="a.example.".*\} 1\n/)
    expect(await get(ends[0]!.replace('/metrics', '/c'))).toMatchObject({ status: 404, text: 'there is /metrics and /b alone\n' })
  })

  test('no more when the server has stopped, whoever is connected', async () => {
    const server = await serverOf('. {\n  prometheus 127.0.0.1:0\n}')
    const { hostname, port } = new URL(endOf(server))
    const silent = connect(Number(port), hostname)
    await once(silent, 'connect')
    const closed = once(silent, 'close')
    const before = performance.now()
    await server.stop()
    expect(performance.now() - before).toBeLessThan(900)
    await closed
    await expect(get(endOf(server))).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('where it cannot listen, DNS is served all the same', () => {
  test('on an address that is taken', async () => {
    const taken = createServer()
    taken.listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const server = await started(`. {\n  prometheus 127.0.0.1:${port}\n  whoami\n}`)
    expect(server.log.lines).toEqual([
      `[ERROR] plugin/prometheus: cannot listen on 127.0.0.1:${port}, so nobody can read the numbers: the port is in use`
    ])
    expect((await server.ask('example.org. A')).rcode).toBe('NOERROR')
    await new Promise((resolve) => taken.close(resolve))
  })

  test('on an address that is not ours', async () => {
    const server = await started('. {\n  prometheus 192.0.2.1:9153\n  whoami\n}')
    expect(server.log.lines).toEqual([expect.stringContaining('[ERROR] plugin/prometheus: cannot listen on 192.0.2.1:9153')])
    expect((await server.ask('example.org. A')).rcode).toBe('NOERROR')
  })
})

test('counting makes no promise', async () => {
  const server = await started('. {\n  prometheus 127.0.0.1:0\n  whoami\n}')
  let promises = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises++
    }
  })
  const octets = requestOctets('example.org. A')
  let sent = 0
  hook.enable()
  for (let i = 0; i < 2; i++) new TestSlot(octets, () => sent++, { endpoint: '127.0.0.1:53' }).giveTo(server.instance.endpoints[0]!.receive)
  hook.disable()
  expect({ sent, promises }).toEqual({ sent: 2, promises: 0 })
  expect(await numbers(server)).toContain(`requests_total{${at},proto="udp",family="1",type="A"} 2`)
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ...['9153', 'localhost', '127.0.0.1:', '::1:9153', 'localhost:65536', 'localhost:x', ''].map((address) => [
      `prometheus "${address}"`,
      `Corefile:2: prometheus: expected an address with a port such as localhost:9153, not "${address}"`
    ]),
    ['prometheus :9153 x', 'Corefile:2: prometheus: expected at most 1 argument, not "x"'],
    ['prometheus {\n    runtime_metrics on\n  }', 'Corefile:3: prometheus: runtime_metrics: expected no argument, not "on"'],
    ...['metrics', '', 'http://localhost/metrics', '/a b', '/a?b', '/a#b', '/ä'].map((path) => [
      `prometheus {\n    path "${path}"\n  }`,
      `Corefile:3: prometheus: path: expected a path such as /metrics, not "${path}"`
    ]),
    ['prometheus {\n    path\n  }', 'Corefile:3: prometheus: path: expected a path such as /metrics, not nothing'],
    ['prometheus {\n    skydns a b c\n  }', 'Corefile:3: prometheus: skydns: expected at most 2 arguments, not "c"'],
    ['prometheus {\n    tls web.yml\n  }', 'Corefile:3: prometheus: tls: is not supported yet, expected the line left out'],
    ['prometheus\n  prometheus', 'Corefile:3: prometheus: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })

  test.each(['127.0.0.1:0', '[::1]:0', 'localhost:0', ':0'])('and %s is none', async (address) => {
    await started(`. {\n  prometheus ${address} {\n    runtime_metrics\n  }\n}`)
  })
})
