import { type Upstream, upstreamAt } from './address.js'

/** What a file like /etc/resolv.conf says. */
export interface ResolvConf {
  readonly upstreams: readonly Upstream[]
  /** What its `nameserver` lines have that is no address; the resolver of the C library passes over it too. */
  readonly notAddresses: readonly string[]
}

/** Reads the `nameserver` lines of resolv.conf(5); every other line is for stub resolvers. */
export function readResolvConf(text: string): ResolvConf {
  const upstreams: Upstream[] = []
  const notAddresses: string[] = []
  for (const line of text.split(/[\r\n]+/)) {
    const [keyword, address] = line.trim().split(/\s+/)
    if (keyword !== 'nameserver' || address === undefined) continue
    const upstream = upstreamAt(address)
    if (upstream === undefined) notAddresses.push(address)
    else upstreams.push(upstream)
  }
  return { upstreams, notAddresses }
}
