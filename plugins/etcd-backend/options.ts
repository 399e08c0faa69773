import {
  type Config,
  canonicalName,
  type Directive,
  type Key,
  keyOfPath,
  type MaybePromise,
  RecordError,
  type Schema,
  shown
} from 'skein/plugin'
import { type Cluster, clusterOptions, readCluster } from './cluster.js'
import { below } from './zone.js'

/** The directive `etcd` as configured. */
export interface Options {
  /** Canonical; those under in-addr.arpa and ip6.arpa only answer PTR. */
  readonly zones: readonly string[]
  readonly path: Key
  /** The folder of the store; undefined for a temporary one, of a replica. */
  readonly store: string | undefined
  /** Where the keys API listens, or `off`. */
  readonly api: string
  readonly token: string | undefined
  readonly ttl: number
  /** Seconds: how long negative answers hold, the SOA's minimum. */
  readonly minTtl: number
  readonly priority: number
  readonly rcacheTtl: number
  /** The SOA's rname; undefined stands for `hostmaster` at the zone. */
  readonly hostmaster: string | undefined
  /** What stands for `local.dns.` of a zone. */
  readonly local: string | undefined
  /** Zones whose names go on to the next plugin where nothing is found; undefined means none. */
  readonly fallthrough: readonly string[] | undefined
  /** The cluster of etcd that feeds the store; undefined where the store is written here. */
  readonly cluster: Cluster | undefined
  /** Seconds: what an answer's TTL may be at least and at most for the lease of its key. */
  readonly lease: { readonly min: number; readonly max: number }
  /** Whether the apex is answered from `apex.dns` in it alone. */
  readonly apexAlone: boolean
}

const MAX_TTL = 0x7fffffff
const SECONDS = { name: 'SECONDS', type: 'integer', min: 0, max: MAX_TTL } as const
const WITHOUT_EFFECT = { status: 'ignored', about: 'accepted without effect, as in CoreDNS' } as const

/** What the directive `etcd` takes. */
export const schema = {
  about: 'Answers from SkyDNS’s services: JSON under reversed names, in the embedded store or in a replica of an etcd cluster.',
  args: [{ name: 'ZONES', type: 'zone', rest: true, optional: true, about: 'the zones served; those of the server block where left out' }],
  options: {
    store: {
      args: [{ name: 'DIR', type: 'path', optional: true, default: 'data' }],
      about:
        'the folder of the embedded store, or of the replica where an `endpoint` stands too; `data` where DIR is left out. Without it the replica is in a temporary folder'
    },
    api: {
      args: [
        {
          name: 'ADDRESS',
          type: 'text',
          pattern: /^(?:off|unix:.+|(?:\[[^\]]+\]|[^:[\]]+):(?:\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))$/,
          expected: 'ADDRESS:PORT, unix:PATH or off'
        }
      ],
      about:
        'where the store’s HTTP API (etcd’s v2 keys) listens; `unix:PATH` for a socket, `off` for none. 127.0.0.1:4001 where left out, and none for a replica, where it only reads'
    },
    token: {
      args: [
        {
          name: 'TEXT',
          type: 'text',
          pattern: /^[\x21-\x7e]{8,}$/,
          expected: 'at least 8 printable characters without spaces',
          secret: true
        }
      ],
      about: 'what clients of the API must send as `Authorization: Bearer TEXT`'
    },
    path: {
      args: [{ name: 'PATH', type: 'text', expected: 'a path such as /skydns' }],
      default: '/skydns',
      about: 'what stands before the reversed name in a key'
    },
    ttl: { args: [SECONDS], default: 3600, about: 'TTL of services that say none, and the most for answers of several records' },
    min_ttl: { args: [SECONDS], default: 60, about: 'TTL of negative answers, the SOA’s minimum' },
    priority: {
      args: [{ name: 'NUMBER', type: 'integer', min: 1, max: 65535 }],
      default: 10,
      about: 'SRV priority and MX preference of services that say none'
    },
    rcache_ttl: { args: [SECONDS], default: 60, about: 'TTL of records looked up outside the zone' },
    hostmaster: {
      args: [{ name: 'MAILBOX', type: 'text', expected: 'a mail address' }],
      about: 'the SOA’s mailbox; `hostmaster@` the zone where left out'
    },
    local: { args: [{ name: 'NAME', type: 'name' }], about: 'a name of the zone that `local.dns` of the zone stands for' },
    fallthrough: {
      args: [{ name: 'ZONES', type: 'zone', rest: true, optional: true, default: ['.'] }],
      about: 'names that do not exist go on to the next plugin; with zones only names in those'
    },
    ...clusterOptions,
    no_apex_fallback: { about: 'the zone’s own name is answered from `apex.dns` in the zone, and not from all services' },
    stubzones: WITHOUT_EFFECT,
    debug: WITHOUT_EFFECT,
    upstream: WITHOUT_EFFECT
  }
} as const satisfies Schema

/** What the schema cannot say: which options need each other, and names that must fit into others. Throws ConfigError. */
export async function readOptions(config: Config<typeof schema>, readFile: (path: string) => MaybePromise<Buffer>): Promise<Options> {
  const { args, options, directive, line } = config
  const [zones] = args
  const { store, token, path, ttl, min_ttl: minTtl, priority, rcache_ttl: rcacheTtl, local, fallthrough } = options
  const hostmaster = options.hostmaster === undefined ? undefined : mailbox(line('hostmaster'), options.hostmaster)
  const cluster = await readCluster(config, store !== undefined, keyOfPath(path), readFile)
  const lease = { min: Math.floor(options['min-lease-ttl'] / 1000), max: Math.floor(options['max-lease-ttl'] / 1000) }
  if (lease.min > lease.max) line('min-lease-ttl').fail(`expected at most the ${lease.max} s of max-lease-ttl, not ${lease.min} s`)
  const api = options.api ?? (cluster === undefined ? '127.0.0.1:4001' : 'off')
  const served = zones.length > 0 ? zones : directive.zones
  for (const zone of served) checkSoa(directive, zone, hostmaster)
  return {
    zones: served,
    path: keyOfPath(path),
    store,
    api,
    token,
    ttl,
    minTtl,
    priority,
    rcacheTtl,
    hostmaster,
    local,
    fallthrough,
    cluster,
    lease,
    apexAlone: options.no_apex_fallback
  }
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

/** A mail address, its `@` and any dot before it as in an SOA (RFC 1035 §8). */
function mailbox(option: Directive, text: string): string {
  const at = text.indexOf('@')
  try {
    return canonicalName(at < 0 ? text : `${text.slice(0, at).replaceAll('.', '\\.')}.${text.slice(at + 1)}`)
  } catch (error) {
    if (error instanceof RecordError) return option.fail(`expected a mail address, not ${shown(text)}: ${error.message}`)
    throw error
  }
}
