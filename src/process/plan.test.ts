import { describe, expect, test } from 'vitest'
import type { BuiltChain } from '../chain/build.js'
import { Chains } from '../chain/compose.js'
import type { BlockScope } from '../chain/scope.js'
import { parseCorefile } from '../corefile/parser.js'
import { Routes } from '../route/route.js'
import { serverOf } from '../testing.js'
import { type BuiltBlock, type PlannedEndpoint, planEndpoints } from './plan.js'

/** Server blocks as if built: `bind` says where each listens. */
function built(corefile: string): BuiltBlock[] {
  return parseCorefile(corefile, 'Corefile').blocks.map((block) => {
    const bind = block.directives.find(({ name }) => name === 'bind')
    const chain: BuiltChain = { at: block.at, configured: [], leftOut: [], chains: new Chains([]) }
    const home = { routes: new Routes<BuiltChain>(), serving: {} as never, entered: new Set<never>(), hasStarted: true }
    return { block, text: '', epoch: 0, chain, scope: {} as BlockScope, home, addresses: bind?.args ?? ['0.0.0.0', '::'] }
  })
}

/** Each address with its zones, and behind each zone the line of its block. */
function planned(corefile: string): { plan: string[]; warnings: string[] } {
  const blocks = built(corefile)
  const warnings: string[] = []
  const line = ({ routes }: PlannedEndpoint, zone: string): number =>
    blocks.find(({ chain }) => chain === routes.zoneOf(zone)?.block)!.block.at.line
  const plan = planEndpoints(blocks, 53, (text, { file, line: named }) => warnings.push(`${file}:${named}: ${text}`)).endpoints.map(
    (endpoint) => {
      const zones = [...endpoint.routes.zones].sort().map((zone) => `${zone}@${line(endpoint, zone)}`)
      return `${endpoint.address} ${endpoint.port}: ${zones.join(' ')}`
    }
  )
  return { plan, warnings }
}

describe('zones are grouped by address and port', () => {
  test.each<[string, string, readonly string[]]>([
    ['every address where no block says otherwise', '. {\n}', ['0.0.0.0 53: .@1', ':: 53: .@1']],
    [
      'a port of its own',
      'example.org:1053 dns://example.net {\n bind 127.0.0.1\n}',
      ['127.0.0.1 1053: example.org.@1', '127.0.0.1 53: example.net.@1']
    ],
    ['several blocks at one address', 'a {\n bind ::1\n}\nb {\n bind ::1\n}', [':: 53', '::1 53: a.@1 b.@4'].slice(1)],
    ['one zone at two addresses', 'a {\n bind 127.0.0.1\n}\na {\n bind 127.0.0.2\n}', ['127.0.0.1 53: a.@1', '127.0.0.2 53: a.@4']],
    ['one zone at two ports', 'a:53 {\n bind ::1\n}\na:54 {\n bind ::1\n}', ['::1 53: a.@1', '::1 54: a.@4']],
    ['port 0', '.:0 {\n bind ::1\n}', ['::1 0: .@1']]
  ])('%s', (_title, corefile, plan) => {
    expect(planned(corefile)).toEqual({ plan, warnings: [] })
  })
})

describe('an address that one block names reaches the zones of those that listen on all', () => {
  const bound = 'a.example.org {\n bind 127.0.0.1\n}\n'
  const everywhere = 'example.org {\n}\n'

  test.each<[string, string, readonly string[]]>([
    [
      'the bound one first',
      bound + everywhere,
      ['127.0.0.1 53: a.example.org.@1 example.org.@4', '0.0.0.0 53: example.org.@4', ':: 53: example.org.@4']
    ],
    [
      'the bound one last',
      everywhere + bound,
      ['0.0.0.0 53: example.org.@1', ':: 53: example.org.@1', '127.0.0.1 53: a.example.org.@3 example.org.@1']
    ],
    ['but not of another port', 'a {\n bind ::1\n}\nb:54 {\n}', ['::1 53: a.@1', '0.0.0.0 54: b.@4', ':: 54: b.@4']],
    ['nor of the other family', 'a {\n bind ::1\n}\nb {\n bind 0.0.0.0\n}', ['::1 53: a.@1', '0.0.0.0 53: b.@4']]
  ])('%s', (_title, corefile, plan) => {
    expect(planned(corefile).plan).toEqual(plan)
  })

  test.each<[string, string, readonly string[]]>([
    ['the bound one first', bound + everywhere, ['Corefile:1', '127.0.0.1:53', 'Corefile:4']],
    ['the bound one last', everywhere + bound, ['Corefile:3', '127.0.0.1:53', 'Corefile:1']],
    ['another port', 'a {\n bind ::1\n}\nb:54 {\n}', []]
  ])('and a warning tells of it: %s', (_title, corefile, [at, address, other]) => {
    const text = `${at}: ${address} is named here, and ${other} listens on every address: all their zones are served there`
    expect(planned(corefile).warnings).toEqual(at === undefined ? [] : [text])
  })

  test('and its own look-ups reach them too', async () => {
    const server = await serverOf('a.example.org {\n bind 127.0.0.1\n etcd {\n store\n }\n}\nexample.net {\n etcd {\n store\n }\n}', {
      services: { '/skydns/org/example/a/x': { host: 'y.example.net' }, '/skydns/net/example/y': { host: '192.0.2.7' } }
    })
    expect((await server.ask('x.a.example.org. A')).answer).toEqual([
      'x.a.example.org. 60 CNAME y.example.net.',
      'y.example.net. 60 A 192.0.2.7'
    ])
    await server.stop()
  })
})

describe('a plan that cannot be is an error with file and line', () => {
  test.each<[string, string, string]>([
    ['a zone twice', 'a {\n}\na {\n}', 'Corefile:3: a: Corefile:1 serves a. on port 53 already, expected each zone once'],
    ['a zone twice, spelled otherwise', 'a:53 {\n}\nA. {\n}', 'Corefile:3: A.: Corefile:1 serves a. on port 53 already'],
    ['a zone twice in one block', 'a b a {\n}', 'Corefile:1: a: Corefile:1 serves a. on port 53 already'],
    ['at one of several addresses', 'a {\n bind ::1\n}\na {\n bind 127.0.0.1 ::1\n}', 'Corefile:4: a: Corefile:1 serves a.'],
    [
      'a zone on an address and on all',
      'a {\n bind 127.0.0.1\n}\na {\n}',
      'Corefile:4: a.: Corefile:1 serves it on an address of its own, and this block on all, expected each zone once'
    ],
    [
      'a zone on all addresses and on one',
      'a {\n}\na {\n bind 127.0.0.1\n}',
      'Corefile:3: a.: Corefile:1 serves it on every address, and this block on one of them'
    ],
    [
      'an address and all of them in one block',
      'a {\n bind 127.0.0.1 0.0.0.0\n}',
      'Corefile:1: a.: it is served on an address of its own and on all, expected each zone once'
    ],
    ['DNS over TLS', 'tls://a {\n}', 'Corefile:1: tls://a: Skein does not serve tls:// yet, expected dns:// or no scheme'],
    ['DNS over HTTPS', 'b {\n}\nhttps://a {\n}', 'Corefile:3: https://a: Skein does not serve https:// yet'],
    ['DNS over QUIC', 'quic://a {\n}', 'Skein does not serve quic:// yet'],
    ['gRPC', 'grpc://a {\n}', 'Skein does not serve grpc:// yet'],
    ['a path', 'unix:///run/dns {\n}', 'Skein does not serve unix:// yet']
  ])('%s', (_title, corefile, message) => {
    expect(() => planned(corefile)).toThrow(expect.objectContaining({ code: 'SKEIN_CONFIG', message: expect.stringContaining(message) }))
  })
})
