import { readUpstream, shown, type Upstream } from 'skein/plugin'

/** Fails with the problem, at the place that the text comes from. */
export type Fail = (problem: string) => never

/** Schemes that CoreDNS takes for upstreams and that are yet to come. */
const LATER_SCHEMES = ['tls', 'https', 'quic']

/** What a TO of `forward` names: an upstream, also behind `dns://`; undefined where it is no address, and may be the path of a file. */
export function readTo(text: string, fail: Fail): Upstream | undefined {
  const [, scheme, address = text] = /^([\w+.-]*):\/\/(.*)$/s.exec(text) ?? []
  if (scheme !== undefined && LATER_SCHEMES.includes(scheme))
    fail(`${shown(text)}: upstreams over ${scheme}:// are not supported yet, expected dns:// or an address`)
  if (scheme !== undefined && scheme !== 'dns')
    fail(`${shown(text)}: the scheme ${shown(scheme)} is unknown for an upstream, expected dns:// or an address`)
  const upstream = readUpstream(address, (problem) => fail(`${shown(text)}: ${problem}`))
  // A path may hold a colon, but one that ends as an address with a port does is none.
  const isName = scheme === 'dns' || /^[^:/]*:\d+$/.test(text)
  return upstream === undefined && isName ? failAsName(text, fail) : upstream
}

/** Fails since a TO is a host name: whoever looks it up would need an upstream. */
export function failAsName(text: string, fail: Fail): never {
  return fail(`${shown(text)} is neither an address nor a file; host names are not supported yet: name upstreams by address`)
}
