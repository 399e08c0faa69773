import { type Config, ConfigError, type Directive, type Host, readResolvConf, type Schema, shown, type Upstream } from 'skein/plugin'
import { failAsName, readTo } from './to.js'

/** Which upstream a query goes to first. */
export type Policy = (typeof POLICIES)[number]

/** The directive `forward` as configured. */
export interface Options {
  /** Canonical: one zone, or the reverse zones of a network. */
  readonly from: readonly string[]
  /** Zones within `from` that go to the next plugin. */
  readonly except: readonly string[]
  /** None where nobody is to be asked. */
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
const LATER = { status: 'later', about: 'CoreDNS has it' } as const
const MAX_UPSTREAMS = 15
/** The TO for nobody; a file of that name is `./none`. */
const NOBODY = 'none'
const HOUR_MS = 3_600_000
/** No name has more labels (RFC 1035 §3.1). */
const MAX_LABELS = 127

/** What the directive `forward` takes. */
export const schema = {
  about: 'Asks other servers, and hands on what they say.',
  args: [
    { name: 'FROM', type: 'zone', about: 'names in this zone are forwarded; a network stands for its reverse zones' },
    {
      name: 'TO',
      type: 'text',
      rest: true,
      // Without a character it would be the Corefile's folder.
      pattern: /./s,
      expected: 'an address, or a file like /etc/resolv.conf',
      about:
        'at most 15 upstreams: `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT`, each also behind `dns://`, or a file with `nameserver` lines; or `none` alone: nobody is asked'
    }
  ],
  options: {
    except: { args: [{ name: 'ZONES', type: 'zone', rest: true }], repeats: true, about: 'names in these zones go to the next plugin' },
    ndots: {
      args: [{ name: 'LABELS', type: 'integer', min: 0, max: MAX_LABELS }],
      default: 0,
      about: 'names with fewer labels are answered with SERVFAIL; SkyDNS has 2'
    },
    no_rec: { about: 'clients get SERVFAIL; only the server’s own look-ups are forwarded' },
    policy: {
      args: [{ name: 'POLICY', type: 'choice', of: POLICIES }],
      about: 'which upstream is asked first; `random` where it and `ns_rotate` are left out'
    },
    ns_rotate: {
      args: [{ name: 'on|off', type: 'switch' }],
      about: 'SkyDNS’s word for it: `on` is `random`, `off` is `sequential`'
    },
    read_timeout: {
      args: [{ name: 'DURATION', type: 'duration', min: 1, max: HOUR_MS }],
      default: 2000,
      about: 'how long one attempt waits'
    },
    force_tcp: { about: 'asks over TCP whatever the client used' },
    prefer_udp: { about: 'asks over UDP first whatever the client used' },
    expire: LATER,
    max_age: LATER,
    max_idle_conns: LATER,
    max_fails: LATER,
    max_connect_attempts: LATER,
    doh_method: LATER,
    tls: LATER,
    tls_servername: LATER,
    health_check: LATER,
    max_concurrent: LATER,
    next: LATER,
    next_on_nodata: LATER,
    failover: LATER,
    failfast_all_unhealthy_upstreams: LATER,
    source_address: LATER,
    resolver: LATER
  }
} as const satisfies Schema

/** What the schema cannot say, and the files that the upstreams come from. Throws ConfigError. */
export async function readOptions({ args: [from, to], options, directive, line }: Config<typeof schema>, host: Host): Promise<Options> {
  if (options.policy !== undefined && options.ns_rotate !== undefined) {
    const [first, second] = [line('policy'), line('ns_rotate')].sort((a, b) => a.at.line - b.at.line)
    second!.fail(`${first!.name} in line ${first!.at.line} says the same, expected one of the two`)
  }
  return {
    from,
    except: options.except.flat(),
    upstreams: await readUpstreams(directive, to, host),
    policy: options.policy ?? (options.ns_rotate === false ? 'sequential' : 'random'),
    ndots: options.ndots,
    noRec: options.no_rec,
    forceTcp: options.force_tcp,
    preferUdp: options.prefer_udp,
    readTimeoutMs: options.read_timeout
  }
}

/** The upstreams in the order of the line, each once. */
async function readUpstreams(directive: Directive, to: readonly string[], host: Host): Promise<Upstream[]> {
  if (to.includes(NOBODY))
    return to.length === 1 ? [] : directive.fail(`none says that nobody is asked, expected it alone, or ./none for a file`)
  const upstreams = new Map<string, Upstream>()
  for (const text of to) {
    const upstream = readTo(text, (problem) => directive.fail(problem))
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
