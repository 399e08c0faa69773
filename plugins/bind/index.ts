import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Directive, ipv6Octets, ipv6Text, listenAddresses, type Offer, type Plugin, type Schema } from 'skein/plugin'

const WHERE = { type: 'text', expected: 'addresses or names of network interfaces', name: 'ADDRESS|INTERFACE', rest: true } as const
const schema = {
  about: 'Names the addresses that a server block listens on.',
  args: [{ ...WHERE, about: 'listens there; on every local address without the directive' }],
  options: { except: { args: [WHERE], repeats: true, about: 'leaves these out' } }
} as const satisfies Schema

/** The addresses of the lines of a server block so far. */
const addressesSoFar: Offer<string[]> = { name: 'bind/addresses' }

/** Names the addresses that a server block listens on. */
export default {
  name: 'bind',
  api: 1,
  repeatable: true,
  schema,
  setup({ args: [words], options, directive }, host) {
    for (const [index, word] of words.entries()) {
      if (words.slice(0, index).some((other) => spelledOnce(other) === spelledOnce(word)))
        directive.fail(`${word} stands twice, expected it once`)
    }
    const without = new Set(options.except.flatMap((list, index) => list.flatMap((word) => addressesOf(directive.options[index]!, word))))
    const named = words.flatMap((word) => addressesOf(directive, word))
    const addresses = [...new Set(named)].filter((address) => !without.has(address))
    if (addresses.length === 0) directive.fail('no address is left to listen on')
    const [before] = host.find(addressesSoFar)
    const again = addresses.find((address) => before?.includes(address))
    if (again !== undefined) directive.fail(`${again} stands in a line before already, expected it once`)
    if (before !== undefined) before.push(...addresses)
    else {
      host.set(listenAddresses, addresses)
      host.offer(addressesSoFar, addresses)
    }
    return {}
  }
} satisfies Plugin<typeof schema>

/** An address as it is, or all those of a network interface; link-local ones carry its name (RFC 4007 §11). */
function addressesOf(directive: Directive, word: string): string[] {
  if (isIP(word.replace(/^\[(.*)\]$/, '$1')) !== 0) return [spelledOnce(word)]
  const all = networkInterfaces()
  const found = Object.hasOwn(all, word) ? all[word] : undefined
  if (found === undefined) directive.fail(`expected an address or the name of a network interface, not ${JSON.stringify(word)}`)
  return found.map(({ address, scopeid }) => (scopeid ? `${address}%${word}` : address))
}

/** What a word names, in one spelling for each address. */
function spelledOnce(word: string): string {
  return oneSpelling(word.replace(/^\[(.*)\]$/, '$1'))
}

/** The same address in two spellings would be opened twice. */
function oneSpelling(address: string): string {
  const [bare = '', zone] = address.split('%')
  const octets = ipv6Octets(bare)
  if (octets === undefined) return address
  return zone === undefined ? ipv6Text(octets) : `${ipv6Text(octets)}%${zone}`
}
