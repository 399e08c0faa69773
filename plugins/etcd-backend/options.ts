import { type Config, canonicalName, type Directive, type Key, keyOfPath, RecordError, type Schema, shown } from 'skein/plugin'
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
}

const MAX_TTL = 0x7fffffff
const SECONDS = { name: 'SECONDS', type: 'integer', min: 0, max: MAX_TTL } as const
const LATER = {
  status: 'later',
  about: 'for a store that is fed from an etcd server',
  instead: '`store [DIR]`, the embedded store'
} as const
const WITHOUT_EFFECT = { status: 'ignored', about: 'accepted without effect, as in CoreDNS' } as const

/** What the directive `etcd` takes. */
export const schema = {
  about: 'Answers from SkyDNS’s services: JSON under reversed names, in the embedded store.',
  args: [{ name: 'ZONES', type: 'zone', rest: true, optional: true, about: 'the zones served; those of the server block where left out' }],
  options: {
    store: {
      args: [{ name: 'DIR', type: 'path', optional: true, default: 'data' }],
      about:
        'the folder of the embedded store; `data` where DIR is left out; required, as a store fed from an etcd server is not supported yet'
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
      default: '127.0.0.1:4001',
      about: 'where the store’s HTTP API (etcd’s v2 keys) listens; `unix:PATH` for a socket, `off` for none'
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
    endpoint: LATER,
    credentials: LATER,
    tls: LATER,
    'min-lease-ttl': LATER,
    'max-lease-ttl': LATER,
    no_apex_fallback: LATER,
    version: LATER,
    expire: LATER,
    stubzones: WITHOUT_EFFECT,
    debug: WITHOUT_EFFECT,
    upstream: WITHOUT_EFFECT
  }
} as const satisfies Schema

/** What the schema cannot say: which options need each other, and names that must fit into others. Throws ConfigError. */
export function readOptions({ args: [zones], options, directive, line }: Config<typeof schema>): Options {
  const { store, api, token, path, ttl, min_ttl: minTtl, priority, rcache_ttl: rcacheTtl, local, fallthrough } = options
  const hostmaster = options.hostmaster === undefined ? undefined : mailbox(line('hostmaster'), options.hostmaster)
  if (store === undefined)
    return directive.fail('a store fed from an etcd server is not supported yet, expected `store [DIR]`, the embedded store')
  const served = zones.length > 0 ? zones : directive.zones
  for (const zone of served) checkSoa(directive, zone, hostmaster)
  return { zones: served, path: keyOfPath(path), store, api, token, ttl, minTtl, priority, rcacheTtl, hostmaster, local, fallthrough }
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
