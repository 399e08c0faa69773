import { canonicalName, type Directive, type Key, keyOfPath, RecordError, shown } from 'skein/plugin'
import { below } from './zone.js'

/** The directive `etcd` as configured. */
export interface Options {
  /** Canonical; those under in-addr.arpa and ip6.arpa only answer PTR. */
  readonly zones: readonly string[]
  readonly path: Key
  /** The folder of the embedded store. */
  readonly store: string
  readonly api: string
  readonly token: string | undefined
  readonly ttl: number
  readonly minTtl: number
  readonly priority: number
  readonly rcacheTtl: number
  readonly hostmaster: string | undefined
  /** What stands for `local.dns.` of a zone. */
  readonly local: string | undefined
  /** Zones whose names go on to the next plugin where nothing is found; undefined means none. */
  readonly fallthrough: readonly string[] | undefined
}

/** Options that need a server to feed the store from. */
const LATER = ['endpoint', 'credentials', 'tls', 'min-lease-ttl', 'max-lease-ttl', 'no_apex_fallback', 'version', 'expire']
/** Options that CoreDNS accepts without effect. */
const WITHOUT_EFFECT = ['stubzones', 'debug', 'upstream']
const MAX_TTL = 0x7fffffff

type Writable<T> = { -readonly [K in keyof T]: T[K] }
type ReadOption = (options: Writable<Options>, option: Directive) => void

/** What reads each option. */
const READERS: ReadonlyMap<string, ReadOption> = new Map<string, ReadOption>([
  ['path', (options, option) => (options.path = keyOfPath(option.only('a path such as /skydns')))],
  ['store', (options, option) => (options.store = storeFolder(option))],
  ['api', (options, option) => (options.api = apiAddress(option))],
  ['token', (options, option) => (options.token = readToken(option))],
  ['ttl', (options, option) => (options.ttl = wholeNumber(option, 0, MAX_TTL))],
  ['min_ttl', (options, option) => (options.minTtl = wholeNumber(option, 0, MAX_TTL))],
  ['priority', (options, option) => (options.priority = wholeNumber(option, 1, 65535))],
  ['rcache_ttl', (options, option) => (options.rcacheTtl = wholeNumber(option, 0, MAX_TTL))],
  ['hostmaster', (options, option) => (options.hostmaster = mailbox(option))],
  ['local', (options, option) => (options.local = zoneName(option, option.only('a name')))],
  [
    'fallthrough',
    (options, option) => (options.fallthrough = option.args.length === 0 ? ['.'] : option.args.map((zone) => zoneName(option, zone)))
  ]
])

/** Reads the directive; throws ConfigError. */
export function readOptions(directive: Directive): Options {
  const options: Writable<Options> = {
    zones: directive.args.length > 0 ? directive.args.map((zone) => zoneName(directive, zone)) : directive.zones,
    path: ['skydns'],
    store: '',
    api: '127.0.0.1:4001',
    token: undefined,
    ttl: 3600,
    minTtl: 60,
    priority: 10,
    rcacheTtl: 60,
    hostmaster: undefined,
    local: undefined,
    fallthrough: undefined
  }
  const seen = new Map<string, Directive>()
  for (const option of directive.options) {
    option.noBlock()
    const before = seen.get(option.name)
    if (before !== undefined) option.fail(`stands in line ${before.at.line} already`)
    seen.set(option.name, option)
    const read = READERS.get(option.name)
    if (read !== undefined) read(options, option)
    else if (!LATER.includes(option.name) && !WITHOUT_EFFECT.includes(option.name)) option.unknown([...READERS.keys()])
  }
  const remote = directive.options.find(({ name }) => LATER.includes(name))
  if (options.store === '' || remote !== undefined) {
    const at = remote ?? directive
    at.fail('a store fed from an etcd server is not supported yet, expected `store [DIR]`, the embedded store')
  }
  for (const zone of options.zones) checkSoa(directive, zone, options.hostmaster)
  return options
}

/** Without an SOA there is no negative answer: its names must be names. */
function checkSoa(directive: Directive, zone: string, hostmaster: string | undefined): void {
  for (const labels of hostmaster === undefined ? ['ns.dns', 'hostmaster'] : ['ns.dns']) {
    try {
      canonicalName(below(labels, zone))
    } catch (error) {
      if (!(error instanceof RecordError)) throw error
      directive.fail(`the zone ${shown(zone)} leaves no room for ${labels} in it: a name has 255 octets at most`)
    }
  }
}

function wholeNumber(option: Directive, min: number, max: number): number {
  option.noMoreThan(1)
  return option.integer(0, min, max)
}

function storeFolder(option: Directive): string {
  option.noMoreThan(1)
  const [folder = 'data'] = option.args
  if (folder === '') option.fail('expected a folder, not an empty text')
  return folder
}

function apiAddress(option: Directive): string {
  const expected = 'ADDRESS:PORT, unix:PATH or off'
  const text = option.only(expected)
  const [, port] = /^(?:\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(text) ?? []
  if (text !== 'off' && !/^unix:./.test(text) && (port === undefined || Number(port) > 65535)) {
    option.fail(`expected ${expected}, not ${shown(text)}`)
  }
  return text
}

function readToken(option: Directive): string {
  const token = option.only('a token')
  if (!/^[\x21-\x7e]{8,}$/.test(token)) option.fail('expected at least 8 printable characters without spaces')
  return token
}

function zoneName(directive: Directive, text: string): string {
  try {
    return canonicalName(text)
  } catch (error) {
    if (error instanceof RecordError) return directive.fail(`expected a domain name, not ${shown(text)}: ${error.message}`)
    throw error
  }
}

/** A mail address, its `@` and any dot before it as in an SOA (RFC 1035 §8). */
function mailbox(option: Directive): string {
  const text = option.only('a mail address')
  const at = text.indexOf('@')
  return zoneName(option, at < 0 ? text : `${text.slice(0, at).replaceAll('.', '\\.')}.${text.slice(at + 1)}`)
}
