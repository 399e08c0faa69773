import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { canonicalName } from '../message/name.js'
import { defaultServerBlocks } from './default.js'
import { ConfigError, type Place } from './directive.js'
import { DEFAULT_PORTS, type Key } from './key.js'
import { memoryOutside } from './memory-outside.testing.js'
import { parseCorefile } from './parser.js'

/** One case as test/conformance/corefile/README.md describes it. */
interface Case {
  title: string
  corefile?: string
  corefileBase64?: string
  files?: Record<string, string>
  env?: Record<string, string>
  accept: boolean
  zones?: string[]
  warning?: string
  error?: { line: number | null; file?: string }
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
    'A zone that is defined twice is told only when all plugins are set up',
    'A mistake in properties from a snippet has the line in the snippet',
    '{args[:]} is an ordinary word',
    'A plugin mistake in an imported file has that file and line',
    'A missing variable is an empty argument',
    'A value with spaces is one argument',
    'A reference without name stays as it is',
    'A reference that is not closed stays as it is',
    'A value of an opening brace is a brace to the plugin'
  ],
  'how often a directive may stand is for its plugin': [
    'A directive without arguments of a snippet that is imported twice takes its own name as argument'
  ],
  'whether zones and schemes can be served is for the server': [
    'The scheme https3 needs a certificate',
    'The scheme unix makes no server',
    'The same zone twice in one block is refused',
    'The same zone with and without trailing dot is refused',
    'The same zone in another case is refused',
    'The same zone with and without scheme is refused',
    'The same zone and port written in two ways is refused',
    'Plain DNS and TLS may be given the same port',
    'A network and its reverse zone are the same zone',
    'A network that another key expands to is the same zone'
  ]
}

/** What CoreDNS warns of and Skein does not: it takes the needless escape away. */
const NO_WARNING = new Set(['A backslash outside quotes is an ordinary character'])

/** The directives of CoreDNS, since cases ask for unknown ones and the parser knows none. */
const DIRECTIVES = new Set(
  `root metadata geoip cancel proxyproto quic grpc_server https https3 timeouts multisocket reload nsid bufsize bind debug trace ready
  health pprof shed prometheus errors log dnstap local dns64 any chaos loadbalance tsig rewrite autopath acl cache header dnssec tls
  minimal template transfer hosts route53 azure clouddns k8s_external kubernetes file auto secondary etcd loop forward grpc erratic
  whoami on sign view nomad`.split(/\s+/)
)

const skipped = new Set(Object.values(SKIPPED).flat())
const met = new Set<string>()
let ran = 0

describe.each(['lexing', 'blocks', 'keys', 'import', 'environment'])('%s.json', (name) => {
  const cases = JSON.parse(readFileSync(new URL(`../../../test/conformance/corefile/${name}.json`, import.meta.url), 'utf8')) as Case[]
  for (const { title } of cases) if (skipped.has(title)) met.add(title)
  test.each(cases.filter(({ title }) => !skipped.has(title)))('$title', (given) => {
    ran++
    const result = verdict(given)
    const right = given.either ? [true, false] : [given.better ?? given.accept]
    expect(right, JSON.stringify(result)).toContain(result.zones !== undefined)
    if (result.zones !== undefined) expectZones(given, result)
    // With `better` the message is the accident; ours stands at the mistake itself, see the parser's own tests.
    else if (given.better === undefined && given.error?.line) {
      expect(result.at).toMatchObject({ file: given.error.file ?? 'Corefile', line: given.error.line })
    }
  })
})

test(`${skipped.size} cases are skipped: ${Object.entries(SKIPPED)
  .map(([why, titles]) => `${titles.length} since ${why}`)
  .join('; ')}`, () => {
  expect([...met].sort()).toEqual([...skipped].sort())
  console.log(`Corefile cases: ${ran} run, ${skipped.size} skipped`)
})

interface Verdict {
  readonly zones?: readonly string[]
  readonly warnings?: readonly string[]
  readonly at?: Place | undefined
}

function expectZones(given: Case, { zones, warnings = [] }: Verdict): void {
  const lists = [given.zones, given.betterZones].filter((list) => list !== undefined).map(canonical)
  if (given.accept || lists.length > 0) expect(lists).toContainEqual(zones)
  // Where something else is better, the warning is of the accident.
  if (given.better !== undefined) return
  const told = warnings.filter((text) => !text.includes(' is not set'))
  expect(told.length > 0, told.join('; ')).toBe(given.warning !== undefined && !NO_WARNING.has(given.title))
}

function verdict({ corefile, corefileBase64, files, env }: Case): Verdict {
  const text = corefile ?? Buffer.from(corefileBase64!, 'base64')
  try {
    const { blocks: found, warnings } = parseCorefile(text, 'Corefile', memoryOutside({ Corefile: text, ...files }, env))
    const blocks = found.length === 0 ? defaultServerBlocks() : found
    const unknown = blocks.flatMap((block) => block.directives).find(({ name }) => !DIRECTIVES.has(name))
    if (unknown !== undefined) return { at: unknown.at }
    const zones = blocks.flatMap((block) => block.keys).map(listening)
    return { zones: zones.sort(), warnings: warnings.map((warning) => warning.text) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    expect(error.message).toMatch(/^[^:]+:\d+: (.*expected|.*did you mean)/)
    return { at: error.at }
  }
}

function listening({ scheme, zone, port }: Key): string {
  return `${scheme === 'dns' ? '' : `${scheme}://`}${zone}:${port ?? (scheme === 'dns' ? 'PORT' : DEFAULT_PORTS[scheme])}`
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
