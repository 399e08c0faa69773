/** SkyDNS's settings as a Corefile of the ordinary plugins. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { ConfigError, shown } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { shownDuration } from '../corefile/value.js'
import { withoutBrackets } from '../corefile/zone.js'
import { isWildcard } from '../listen/addresses.js'
import { readUpstream, type Upstream, upstreamAt } from '../upstream/address.js'
import { readResolvConf } from '../upstream/resolv-conf.js'
import { type Line, line, type Printed, printed } from './lines.js'
import { MAX_TTL, type Settings, type Settled } from './settings.js'

/** What the machine has to do with it. */
export interface Machine {
  /** The text of /etc/resolv.conf; undefined where there is none. */
  readonly resolvConf: string | undefined
  /** Where the sockets listen that a service manager has passed. */
  readonly passed: readonly Place[]
}

/** An address that is listened on, and its port. */
export interface Place {
  readonly address: string
  readonly port: number
  /** Of one for every address: whether for both families. */
  readonly isDual?: boolean
}

/** A Corefile. */
export interface SkydnsCorefile extends Printed {
  /** What is not as the settings have it; for the log. */
  readonly notes: readonly string[]
}

const REVERSE = ['in-addr.arpa', 'ip6.arpa']
const RESOLV_CONF = '/etc/resolv.conf'
/** The cap that SkyDNS lacks. */
const UDP_SIZE = '4096'
/** As many as `forward` takes. */
const MOST_NAMESERVERS = 15
/** In the names of BIND's files. */
const RSASHA1 = /\+005\+/

/** The Corefile. Throws ConfigError where a setting cannot be what it is. */
export function corefileOf(settings: Settings, machine: Machine): SkydnsCorefile {
  const notes: string[] = []
  checkNames(settings)
  const places = placesOf(settings, machine)
  const lines = [...linesOf(settings, machine, notes)]
  notes.push(...circles(settings, machine, places))
  const blocks = byPort(places).map(
    ([port, addresses]): Line => ({
      words: [`.:${port}`],
      of: [settings.addr],
      block: [...(addresses.length === 0 ? [] : [line(['bind', ...addresses], settings.addr)]), ...lines]
    })
  )
  return { ...printed(blocks), notes }
}

/** What a file of variables has at the end of a line would be a part of the name, which nobody asks for. */
function checkNames({ domain, local, hostmaster }: Settings): void {
  for (const { value, from } of [domain, local, hostmaster])
    if (/\s/.test(value)) throw new ConfigError(`${from}: expected a name without white space, not ${JSON.stringify(value)}`)
}

function* linesOf(settings: Settings, machine: Machine, notes: string[]): Generator<Line> {
  const { verbose, roundRobin, rcache, rcacheTtl, stubzones, domain } = settings
  yield line(['bufsize', UDP_SIZE])
  yield line(['errors'])
  if (verbose.value) yield line(['log'], verbose)
  yield* numbers(settings, notes)
  yield line(['any', 'refuse'])
  if (roundRobin.value) yield line(['loadbalance'], roundRobin)
  if (rcache.value > 0) {
    // No TTL is changed; it only counts down.
    const block = ['success', 'denial'].map((kind) => line([kind, rcache.value, MAX_TTL, 0], rcache))
    yield { words: ['cache'], of: [rcache], block: [...block, line(['keep', `${rcacheTtl.value}s`], rcacheTtl)] }
  }
  if (stubzones.value) yield { words: ['stub', apexOf(domain)], of: [stubzones, domain], block: [line(['etcd'], stubzones)] }
  yield line(['chaos'])
  yield* signing(settings, notes)
  yield backend(settings, notes)
  yield forwarding(settings, machine, notes)
}

/** Names have no case; a dot at the end is no other name. */
function apexOf({ value }: Settled<string>): string {
  const name = value.toLowerCase()
  return name.endsWith('.') && name !== '.' ? name.slice(0, -1) : name
}

function* numbers(
  { prometheusPort, prometheusPath, prometheusNamespace, prometheusSubsystem }: Settings,
  notes: string[]
): Generator<Line> {
  const { value: port } = prometheusPort
  // SkyDNS serves DNS all the same; Kubernetes itself makes PROMETHEUS_PORT=tcp://… of a service named prometheus.
  if (port !== '' && !isPort(port)) {
    notes.push(`${prometheusPort.from} has no effect: expected a port from 1 to 65535, or 0 for none, not ${JSON.stringify(port)}`)
    return
  }
  if (Number(port) === 0) return
  yield {
    words: ['prometheus', `:${Number(port)}`],
    of: [prometheusPort],
    block: [
      ...(prometheusPath.value === '/metrics' ? [] : [line(['path', prometheusPath.value], prometheusPath)]),
      line(['skydns', prometheusNamespace.value, prometheusSubsystem.value], prometheusPort, prometheusNamespace, prometheusSubsystem)
    ]
  }
}

/** Relative paths hang on the working directory, wherever the Corefile is. SkyDNS's keys may have blanks for plus signs. */
function* signing({ dnssec, domain, scache }: Settings, notes: string[]): Generator<Line> {
  if (dnssec.value === '') return
  const base = resolve(dnssec.value)
  const isOld = RSASHA1.test(base.replaceAll(' ', '+'))
  if (isOld)
    notes.push(
      `${dnssec.from}: a key of algorithm 5 does not go with NSEC3 (RFC 5155 §2), so what does not exist is proven with NSEC: make another key`
    )
  if (scache.value === 0) notes.push(`${scache.from}: one signature is kept, as there has to be room for one`)
  yield {
    words: ['dnssec', apexOf(domain)],
    of: [dnssec, domain],
    block: [
      line(['key', 'file', base], dnssec),
      line(['denial', isOld ? 'nsec' : 'nsec3'], dnssec),
      line(['cache_capacity', Math.max(1, scache.value)], scache)
    ]
  }
}

function backend(settings: Settings, notes: string[]): Line {
  return { words: ['etcd', apexOf(settings.domain), ...REVERSE], of: [settings.domain], block: [...serving(settings, notes)] }
}

/** The `etcd` alone, for who looks into its store. Throws ConfigError. */
export function storeAlone(settings: Settings): readonly ServerBlock[] {
  return printed([{ words: ['.'], of: [], block: [backend(settings, [])] }]).blocks
}

/** The options of `etcd`: where the store is, then what of its services. */
function* serving(settings: Settings, notes: string[]): Generator<Line> {
  yield* store(settings, notes)
  const { ttl, minTtl, priority, rcacheTtl, hostmaster, local } = settings
  yield line(['ttl', ttl.value], ttl)
  yield line(['min_ttl', minTtl.value], minTtl)
  yield line(['priority', priority.value], priority)
  yield line(['rcache_ttl', rcacheTtl.value], rcacheTtl)
  // As SkyDNS has it: no dot of it is part of a label.
  if (hostmaster.value !== '') yield line(['hostmaster', rooted(hostmaster.value.replaceAll('@', '.'))], hostmaster)
  if (local.value !== '') yield line(['local', rooted(local.value)], local)
  yield line(['fallthrough', ...REVERSE])
}

function rooted(name: string): string {
  return name.endsWith('.') ? name : `${name}.`
}

/** The path above all keys, with a slash before it. */
export function topOf({ pathPrefix }: Settings): string {
  return `/${pathPrefix.value.replace(/^\/+|\/+$/g, '')}`
}

/** The lines of `etcd` that say where the store is. */
function* store(settings: Settings, notes: string[]): Generator<Line> {
  const { embedded, api, machines, etcd3, pathPrefix, caCert, tlsPem, tlsKey, username, password } = settings
  if (embedded.value === '') {
    if (machines.value.length === 0) throw new ConfigError(`${machines.from}: expected a URL such as http://127.0.0.1:2379`)
    yield line(['endpoint', ...machines.value.map((url) => (etcd3.value ? url : withPort(url)))], machines)
    yield line(['version', etcd3.value ? 3 : 2], etcd3)
    if ((tlsPem.value === '') !== (tlsKey.value === '')) {
      const [there, missing] = tlsPem.value === '' ? [tlsKey, '-tls-pem'] : [tlsPem, '-tls-key']
      throw new ConfigError(`${there.from}: a certificate and its key go together, expected ${missing} too`)
    }
    const files = [tlsPem, tlsKey, caCert].filter(({ value }) => value !== '')
    if (files.length > 0) yield line(['tls', ...files.map(({ value }) => resolve(value))], ...files)
    if (username.value !== '') yield line(['credentials', username.value, password.value], username, password)
    else if (password.value !== '') notes.push(`${password.from} has no effect without -username`)
    if (api.value !== '') notes.push(`${api.from} has no effect without -embedded`)
  } else {
    yield line(['store', resolve(embedded.value)], embedded)
    if (api.value !== '') yield line(['api', api.value], api)
    const without = [machines, etcd3, caCert, tlsPem, tlsKey, username, password].filter(({ from }) => from !== 'default')
    for (const { from } of without) notes.push(`${from} has no effect beside ${embedded.from}`)
  }
  yield line(['path', topOf(settings)], pathPrefix)
}

/** SkyDNS's client of version 2 goes to HTTP's own port where the URL names none. */
function withPort(text: string): string {
  if (!/^https?:\/\//i.test(text) || /:\d+\/?$/.test(text) || !URL.canParse(text)) return text
  const { protocol, username, password, hostname, pathname, search, hash } = new URL(text)
  // What else stands in it is refused, and not lost.
  return `${username}${password}${pathname}${search}${hash}` === '/' ? `${protocol}//${hostname}:${protocol === 'https:' ? 443 : 80}` : text
}

function forwarding(settings: Settings, { resolvConf }: Machine, notes: string[]): Line {
  const { nameservers, noRec, ndots, nsRotate, readTimeout } = settings
  const block = [
    line(['ndots', ndots.value], ndots),
    ...(noRec.value ? [line(['no_rec'], noRec)] : []),
    line(['ns_rotate', nsRotate.value ? 'on' : 'off'], nsRotate),
    line(['read_timeout', shownDuration(readTimeout.value)], readTimeout)
  ]
  for (const text of nameservers.value) checkNameserver(text, nameservers.from)
  const named = nameservers.value.slice(0, MOST_NAMESERVERS)
  if (nameservers.value.length > named.length)
    notes.push(`${nameservers.from}: of ${nameservers.value.length} name servers the first ${MOST_NAMESERVERS} are asked`)
  if (named.length > 0) return { words: ['forward', '.', ...named], of: [nameservers], block }
  if (resolvConf !== undefined && readResolvConf(resolvConf).upstreams.length > 0)
    return { words: ['forward', '.', RESOLV_CONF], of: [nameservers], block }
  const why = resolvConf === undefined ? `there is no ${RESOLV_CONF}` : `${RESOLV_CONF} names none`
  notes.push(`no name servers: ${why}, so names outside of the domain are answered with SERVFAIL`)
  return { words: ['forward', '.', 'none'], of: [nameservers], block }
}

/** In the stored object SkyDNS takes everything, and asks nobody where it is no IP:PORT. */
function checkNameserver(text: string, from: string): void {
  if (from.includes('/') && upstreamAt(withoutBrackets(text)) !== undefined) return
  const place = placeOf(text)
  const problem = typeof place === 'string' ? place : text.startsWith(':') ? `expected an address too, not ${shown(text)}` : undefined
  if (problem !== undefined) throw new ConfigError(`${from}: name servers: ${problem}`)
}

/** Who is this machine's resolver stands in its /etc/resolv.conf, and would ask itself. */
function circles({ nameservers: { value, from } }: Settings, { resolvConf = '' }: Machine, places: readonly Place[]): string[] {
  const named = value.map((text) => readUpstream(text, () => undefined as never))
  const [asked, who] = value.length > 0 ? [named, from] : [readResolvConf(resolvConf).upstreams, RESOLV_CONF]
  return asked.flatMap((upstream) => {
    if (upstream === undefined || !places.some((place) => isAt(place, upstream))) return []
    return [`${who}: ${upstream.text} is this server itself, which has no answer where it asks itself: name others with -nameservers`]
  })
}

function isAt({ address, port, isDual }: Place, upstream: Upstream): boolean {
  return port === upstream.port && (address === upstream.address || (isDual === true && /^(?:127\.|::1$)/.test(upstream.address)))
}

/** Where it listens. */
function placesOf({ addr, systemd }: Settings, { passed }: Machine): readonly Place[] {
  if (systemd.value) {
    if (passed.length === 0) throw new ConfigError(`${systemd.from}: no sockets were passed, expected some by LISTEN_FDS`)
    return passed
  }
  const place = placeOf(addr.value)
  if (typeof place === 'string') throw new ConfigError(`${addr.from}: ${place}`)
  return [place]
}

/** For each port the addresses, none for all of the machine. */
function byPort(places: readonly Place[]): [number, string[]][] {
  const ports = new Map<number, Set<string>>()
  for (const { address, port } of places) ports.set(port, (ports.get(port) ?? new Set()).add(address))
  const isForAll = (port: number): boolean => places.some((place) => place.port === port && place.isDual === true)
  return [...ports].map(([port, addresses]) => [port, isForAll(port) ? [] : [...addresses]])
}

/** Reads `IP:PORT`; without address it is all of the machine, as in Go. Gives what is wrong, in words. */
function placeOf(text: string): Place | string {
  const [, host = text, port = ''] = /^(.*):([^:]*)$/s.exec(text) ?? []
  const address = withoutBrackets(host)
  const isWhole = isIP(address) === 4 ? host === address : isIP(address) === 6 && host !== address
  if ((host !== '' && !isWhole) || !text.includes(':'))
    return `expected an address and a port such as 127.0.0.1:53 or [::1]:53, not ${shown(text)}${isIP(text) === 0 ? '' : `: its port is missing`}`
  if (!isPort(port) || Number(port) === 0) return `expected a port from 1 to 65535, as in 127.0.0.1:53, not ${shown(text)}`
  // As Go has it: a wildcard of either family is for both.
  const isDual = host === '' || isWildcard(address)
  return { address: isDual ? '::' : address, port: Number(port), isDual }
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65535
}
