/** What the machine tells without opening anything. */
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { isWildcard, localAddresses } from '../listen/addresses.js'

/** A machine that a server may run on. */
export interface Machine {
  /** Whether it has an address. */
  has(address: string): boolean
  /** Whether addresses can be listened on that it does not have (yet). */
  readonly bindsAny: boolean
  /** The first port that this user may listen on. */
  readonly firstPort: number
}

/** This one. */
export function thisMachine(): Machine {
  const addresses = new Set(localAddresses())
  return {
    // All of 127.0.0.0/8 is loopback.
    has: (address) => isWildcard(address) || addresses.has(address) || (isIPv4(address) && address.startsWith('127.')),
    bindsAny: setting('ip_nonlocal_bind') === 1,
    firstPort: process.getuid === undefined || process.getuid() === 0 ? 0 : (setting('ip_unprivileged_port_start') ?? 1024)
  }
}

/** A setting of Linux; undefined elsewhere. */
function setting(name: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8'))
  } catch {
    return undefined
  }
}
