import { networkInterfaces } from 'node:os'
import { shownAddress } from '../query.js'

/** Every address of this machine that can be listened on; link-local ones carry their interface (RFC 4007 §11). */
export function localAddresses(): string[] {
  const all = Object.entries(networkInterfaces())
  const named = all.flatMap(([name, list = []]) => list.map(({ address, scopeid }) => (scopeid ? `${address}%${name}` : address)))
  // Two interfaces may have the same one.
  return [...new Set(named)]
}

/** Whether an address stands for all addresses of its family. */
export function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || /^[0:]+$/.test(address)
}

/** The IPv4 address that an IPv6 one maps (RFC 4291 §2.5.5.2), as a socket of both families has it; others as they are. */
export function unmapped(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}

/** What the Corefile has us listen on, as CoreDNS writes it: `127.0.0.1:53`, `:53` for all addresses. */
export function shownEndpoint(address: string, port: number): string {
  return isWildcard(address) ? `:${port}` : shownAddress(address, port)
}
