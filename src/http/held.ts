/** What this process listens on by TCP: over a reload the new configuration may want a port that the old one still has. */
import type { AddressInfo, Server } from 'node:net'

const held = new Set<Server>()

/** Has a server that listens counted until it ends. */
export function hold(server: Server): void {
  held.add(server)
  server.once('close', () => held.delete(server))
}

/** Whether this process itself has a port, on that address, or on all addresses where one of the two is that. */
export function isHeld(host: string, port: number): boolean {
  return [...held].some((server) => {
    const at = server.listening ? (server.address() as AddressInfo) : undefined
    return at?.port === port && (at.address === host || isAny(at.address) || isAny(host))
  })
}

function isAny(address: string): boolean {
  return ['', '0.0.0.0', '::'].includes(address)
}
