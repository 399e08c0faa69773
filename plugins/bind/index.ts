import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Directive, ipv6Octets, ipv6Text, listenAddresses, type Plugin } from 'skein/plugin'

/** Names the addresses that a server block listens on. */
export default {
  name: 'bind',
  api: 1,
  setup(directive, host) {
    if (directive.args.length === 0) directive.fail('expected addresses or names of network interfaces')
    const without = new Set<string>()
    for (const option of directive.options) {
      if (option.name !== 'except') option.unknown(['except'])
      option.noBlock()
      if (option.args.length === 0) option.fail('expected addresses or names of network interfaces')
      for (const word of option.args) for (const address of addressesOf(option, word)) without.add(address)
    }
    const named = directive.args.flatMap((word) => addressesOf(directive, word))
    const addresses = [...new Set(named)].filter((address) => !without.has(address))
    if (addresses.length === 0) directive.fail('no address is left to listen on')
    host.set(listenAddresses, addresses)
    return {}
  }
} satisfies Plugin

/** An address as it is, or all those of a network interface; link-local ones carry its name (RFC 4007 §11). */
function addressesOf(directive: Directive, word: string): string[] {
  const bare = word.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) !== 0) return [oneSpelling(bare)]
  const all = networkInterfaces()
  const found = Object.hasOwn(all, word) ? all[word] : undefined
  if (found === undefined) directive.fail(`expected an address or the name of a network interface, not ${JSON.stringify(word)}`)
  return found.map(({ address, scopeid }) => (scopeid ? `${address}%${word}` : address))
}

/** The same address in two spellings would be opened twice. */
function oneSpelling(address: string): string {
  const [bare = '', zone] = address.split('%')
  const octets = ipv6Octets(bare)
  if (octets === undefined) return address
  return zone === undefined ? ipv6Text(octets) : `${ipv6Text(octets)}%${zone}`
}
