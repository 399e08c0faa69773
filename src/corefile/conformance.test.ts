import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { canonicalName } from '../message/name.js'
import { defaultServerBlocks } from './default.js'
import { ConfigError } from './directive.js'
import type { Key } from './key.js'
import { parseCorefile } from './parser.js'

/** One case as test/conformance/corefile/README.md describes it. */
interface Case {
  title: string
  corefile?: string
  corefileBase64?: string
  accept: boolean
  zones?: string[]
  error?: { line: number | null }
  better?: boolean
  betterZones?: string[]
  either?: boolean
}

/** Why a case says nothing about the parser alone, and which cases. */
const SKIPPED: Readonly<Record<string, readonly string[]>> = {
  'the arguments of a directive are for its plugin': [
    'An empty quoted word is an argument',
    'Single quotes do not quote',
    'Backticks do not quote',
    'Words after a quoted word that ran over lines are further arguments',
    'A block inside the block of a plugin is refused by the plugin',
    'Of two plugin mistakes the one of the plugin that is first in the fixed order is told',
    'A zone that is defined twice is told only when all plugins are set up'
  ],
  'whether zones and schemes can be served is for the server': [
    'The scheme https3 needs a certificate',
    'The scheme unix makes no server',
    'The same zone twice in one block is refused',
    'The same zone with and without trailing dot is refused',
    'The same zone in another case is refused',
    'The same zone with and without scheme is refused',
    'The same zone and port written in two ways is refused'
  ],
  'import and snippets are not supported yet': ['A file with only snippets runs the built-in default'],
  'networks as keys are not supported yet': [
    'IPv4 networks /8, /16 and /32 are one reverse zone each',
    'The IPv4 network /0 is all of in-addr.arpa',
    'A network /23 is two reverse zones',
    'A network /14 is four reverse zones',
    'A network /31 is two reverse zones of one address',
    'A network /25 is 128 reverse zones',
    'A network may have a scheme',
    'An IPv6 network may have a port',
    'The IPv6 network 2000::/3 is two reverse zones',
    'An IPv6 network /127 is two reverse zones and a /128 is one',
    'The IPv6 loopback address with mask is refused',
    'An IPv6 network that starts with a zero is refused',
    'A network and its reverse zone are the same zone',
    'A network that another key expands to is the same zone',
    'A network inside another is another zone'
  ]
}

/** The directives of CoreDNS, since cases ask for unknown ones and the parser knows none. */
const DIRECTIVES = new Set(
  `root metadata geoip cancel proxyproto quic grpc_server https https3 timeouts multisocket reload nsid bufsize bind debug trace ready
  health pprof shed prometheus errors log dnstap local dns64 any chaos loadbalance tsig rewrite autopath acl cache header dnssec tls
  minimal template transfer hosts route53 azure clouddns k8s_external kubernetes file auto secondary etcd loop forward grpc erratic
  whoami on sign view nomad`.split(/\s+/)
)

const DEFAULT_PORTS: Readonly<Record<Key['scheme'], number | 'PORT'>> = {
  dns: 'PORT',
  tls: 853,
  quic: 853,
  https: 443,
  https3: 443,
  grpc: 443,
  unix: 0
}

const skipped = new Set(Object.values(SKIPPED).flat())
const met = new Set<string>()

describe.each(['lexing', 'blocks', 'keys'])('%s.json', (file) => {
  const cases = JSON.parse(readFileSync(new URL(`../../../test/conformance/corefile/${file}.json`, import.meta.url), 'utf8')) as Case[]
  for (const { title } of cases) if (skipped.has(title)) met.add(title)
  test.each(cases.filter(({ title }) => !skipped.has(title)))('$title', (given) => {
    const result = verdict(given)
    const right = given.either ? [true, false] : [given.accept, given.better ?? given.accept]
    expect(right, JSON.stringify(result)).toContain(result.zones !== undefined)
    if (result.zones !== undefined) {
      const lists = [given.zones, given.betterZones].filter((list) => list !== undefined).map(canonical)
      if (given.accept || lists.length > 0) expect(lists).toContainEqual(result.zones)
    } else if (given.better === undefined && given.error?.line) {
      // With `better` the message is the accident; ours stands at the mistake itself, see the parser's own tests.
      expect(result.line).toBe(given.error.line)
    }
  })
})

test(`${skipped.size} cases are skipped: ${Object.entries(SKIPPED)
  .map(([why, titles]) => `${titles.length} since ${why}`)
  .join('; ')}`, () => {
  expect([...met].sort()).toEqual([...skipped].sort())
})

function verdict({ corefile, corefileBase64 }: Case): { zones?: string[]; line?: number | undefined } {
  try {
    let blocks = parseCorefile(corefile ?? Buffer.from(corefileBase64!, 'base64'), 'Corefile')
    if (blocks.length === 0) blocks = defaultServerBlocks()
    const unknown = blocks.flatMap((block) => block.directives).find(({ name }) => !DIRECTIVES.has(name))
    if (unknown !== undefined) return { line: unknown.at.line }
    return {
      zones: blocks
        .flatMap((block) => block.keys)
        .map(listening)
        .sort()
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    expect(error.message).toMatch(/^Corefile:\d+: .*expected|^Corefile:\d+: .*did you mean/)
    return { line: error.at?.line }
  }
}

function listening({ scheme, zone, port }: Key): string {
  return `${scheme === 'dns' ? '' : `${scheme}://`}${zone}:${port ?? DEFAULT_PORTS[scheme]}`
}

/** CoreDNS prints names as they were written, and the address of `bind` after them. */
function canonical(zones: readonly string[]): string[] {
  return zones
    .map((line) => {
      const [, scheme = '', zone, port] = /^([a-z0-9]+:\/\/)?(.*):(PORT|\d+)( on .*)?$/.exec(line)!
      return `${scheme}${canonicalName(zone!)}:${port}`
    })
    .sort()
}
