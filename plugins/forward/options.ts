import { isIP } from 'node:net'
import { ConfigError, canonicalName, type Directive, type Host, RecordError, shown } from 'skein/plugin'
import { durationMs } from './duration.js'
import { readResolvConf } from './resolv-conf.js'
import { failAsName, readUpstream, type Upstream } from './upstream-address.js'

/** Which upstream a query goes to first. */
export type Policy = (typeof POLICIES)[number]

/** The directive `forward` as configured. */
export interface Options {
  /** Canonical. */
  readonly from: string
  /** Zones within `from` that go to the next plugin. */
  readonly except: readonly string[]
  readonly upstreams: readonly Upstream[]
  readonly policy: Policy
  /** Names with fewer labels are not forwarded. */
  readonly ndots: number
  /** Whether clients are refused, and only look-ups of the server for itself are forwarded. */
  readonly noRec: boolean
  readonly forceTcp: boolean
  readonly preferUdp: boolean
  readonly readTimeoutMs: number
}

const POLICIES = ['random', 'round_robin', 'sequential'] as const
const KNOWN = ['except', 'ndots', 'no_rec', 'ns_rotate', 'read_timeout', 'force_tcp', 'prefer_udp', 'policy']
/** Options of CoreDNS that are yet to come: not unknown. */
const LATER = [
  'expire',
  'max_age',
  'max_idle_conns',
  'max_fails',
  'max_connect_attempts',
  'doh_method',
  'tls',
  'tls_servername',
  'health_check',
  'max_concurrent',
  'next',
  'next_on_nodata',
  'failover',
  'failfast_all_unhealthy_upstreams',
  'source_address',
  'resolver'
]
const MAX_UPSTREAMS = 15
const MAX_TIMEOUT_MS = 3_600_000
/** No name has more labels (RFC 1035 §3.1). */
const MAX_LABELS = 127

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Reads the directive and the files that it names; throws ConfigError. */
export async function readOptions(directive: Directive, host: Host): Promise<Options> {
  const [from, ...to] = directive.args
  if (from === undefined) directive.fail('expected a zone and the upstreams for it, such as . 192.0.2.53')
  if (to.length === 0) directive.fail(`expected upstreams after the zone ${shown(from)}, addresses or a file like /etc/resolv.conf`)
  const options: Writable<Options> = {
    from: readZone(directive, from),
    except: [],
    upstreams: [],
    policy: 'random',
    ndots: 0,
    noRec: false,
    forceTcp: false,
    preferUdp: false,
    readTimeoutMs: 2000
  }
  readBlock(options, directive)
  options.upstreams = await readUpstreams(directive, to, host)
  return options
}

function readBlock(options: Writable<Options>, directive: Directive): void {
  const seen = new Map<string, Directive>()
  for (const option of directive.options) {
    option.noBlock()
    const before = seen.get(option.name)
    if (before !== undefined && option.name !== 'except') option.fail(`stands in line ${before.at.line} already`)
    seen.set(option.name, option)
    readOption(options, option)
  }
  const [policy, rotate] = [seen.get('policy'), seen.get('ns_rotate')]
  if (policy === undefined || rotate === undefined) return
  const [first, second] = policy.at.line <= rotate.at.line ? [policy, rotate] : [rotate, policy]
  second.fail(`${first.name} in line ${first.at.line} says the same, expected one of the two`)
}

function readOption(options: Writable<Options>, option: Directive): void {
  switch (option.name) {
    case 'except':
      if (option.args.length === 0) option.fail('expected the zones to leave out')
      options.except = [...options.except, ...option.args.map((zone) => readZone(option, zone))]
      break
    case 'ndots':
      option.noMoreThan(1)
      options.ndots = option.integer(0, 0, MAX_LABELS)
      break
    case 'ns_rotate':
      options.policy = oneOf(option, ['on', 'off'] as const) === 'on' ? 'random' : 'sequential'
      break
    case 'policy':
      options.policy = oneOf(option, POLICIES)
      break
    case 'read_timeout':
      options.readTimeoutMs = readTimeout(option)
      break
    case 'no_rec':
      options.noRec = isSet(option)
      break
    case 'force_tcp':
      options.forceTcp = isSet(option)
      break
    case 'prefer_udp':
      options.preferUdp = isSet(option)
      break
    default:
      if (LATER.includes(option.name)) option.fail('not supported yet')
      option.unknown(KNOWN)
  }
}

function isSet(option: Directive): true {
  option.noMoreThan(0)
  return true
}

function oneOf<T extends string>(option: Directive, words: readonly T[]): T {
  const word = option.only(`one of ${words.join(', ')}`)
  return words.find((known) => known === word) ?? option.fail(`expected one of ${words.join(', ')}, not ${shown(word)}`)
}

function readTimeout(option: Directive): number {
  const text = option.only('a time such as 2s')
  const milliseconds = durationMs(text)
  if (milliseconds === undefined || milliseconds < 1 || milliseconds > MAX_TIMEOUT_MS) {
    option.fail(`expected a time from 1ms to 1h such as 2s, not ${shown(text)}`)
  }
  return milliseconds
}

function readZone(directive: Directive, text: string): string {
  if (isIP(text) !== 0) directive.fail(`expected a zone such as . or example.org, not the address ${shown(text)}`)
  const [address = '', ...mask] = text.split('/')
  if (mask.length === 1 && isIP(address) !== 0)
    directive.fail(`networks such as ${shown(text)} are not supported yet, expected a reverse zone`)
  try {
    return canonicalName(text)
  } catch (error) {
    if (error instanceof RecordError)
      return directive.fail(`expected a zone such as . or example.org, not ${shown(text)}: ${error.message}`)
    throw error
  }
}

/** The upstreams in the order of the line, each once. */
async function readUpstreams(directive: Directive, to: readonly string[], host: Host): Promise<Upstream[]> {
  const upstreams = new Map<string, Upstream>()
  for (const text of to) {
    const upstream = readUpstream(text, (problem) => directive.fail(problem))
    const named = upstream === undefined ? await readFile(directive, text, host) : [upstream]
    for (const one of named) upstreams.set(one.text, one)
  }
  if (upstreams.size > MAX_UPSTREAMS) directive.fail(`expected at most ${MAX_UPSTREAMS} upstreams, not ${upstreams.size}`)
  return [...upstreams.values()]
}

async function readFile(directive: Directive, path: string, host: Host): Promise<readonly Upstream[]> {
  const text = await contentOf(directive, path, host)
  const { upstreams, notAddresses } = readResolvConf(text)
  for (const word of notAddresses) host.log.warn(`${path}: the nameserver ${shown(word)} is no address, and is left out`)
  if (upstreams.length === 0) directive.fail(`${path}: expected a file with a line such as \`nameserver 192.0.2.53\``)
  return upstreams
}

async function contentOf(directive: Directive, path: string, host: Host): Promise<string> {
  try {
    return (await host.readFile(path)).toString('utf8')
  } catch (error) {
    // A word without a slash that is no file was meant as a host name.
    const isMissing = error instanceof ConfigError && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
    if (isMissing && !path.includes('/')) failAsName(path, (problem) => directive.fail(problem))
    throw error
  }
}
