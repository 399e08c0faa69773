/** What the machine tells without opening anything. */
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { isWildcard, localAddresses } from '../listen/addresses.js'

/** A machine that a server may run on. */
export interface Machine {
  /** Whether an address can be listened on. */
  has(address: string): boolean
  /** Whether addresses can be listened on that it does not have (yet). */
  readonly bindsAny: boolean
  /** The first port that this user may listen on. */
  readonly firstPort: number
}

const ANY_PORT = 0
/** Where Linux begins, unless it was told otherwise. */
const FIRST_PORT = 1024
/** The bit of CAP_NET_BIND_SERVICE. */
const BIND_SERVICE = 1n << 10n

/** This one. */
export function thisMachine(read: (path: string) => string = (path) => readFileSync(path, 'utf8')): Machine {
  const addresses = new Set(localAddresses())
  return {
    has: (address) => isWildcard(address) || addresses.has(address) || isEverybodys(address),
    bindsAny: setting('ip_nonlocal_bind', read) === 1,
    firstPort: mayBindAll(read) ? ANY_PORT : (setting('ip_unprivileged_port_start', read) ?? FIRST_PORT)
  }
}

/** Loopback, which is all of 127.0.0.0/8, and addresses of groups and of all. */
function isEverybodys(address: string): boolean {
  if (!isIPv4(address)) return /^ff/i.test(address)
  const first = Number(address.split('.')[0])
  return first === 127 || (first >= 224 && first < 240) || address === '255.255.255.255'
}

/** What Linux says of this process; elsewhere root may. */
function mayBindAll(read: (path: string) => string): boolean {
  const effective = /^CapEff:\s*([\da-f]+)$/im.exec(textOf('/proc/self/status', read))?.[1]
  if (effective !== undefined) return (BigInt(`0x${effective}`) & BIND_SERVICE) !== 0n
  return process.getuid === undefined || process.getuid() === 0
}

/** A setting of Linux; undefined elsewhere. */
function setting(name: string, read: (path: string) => string): number | undefined {
  const text = textOf(`/proc/sys/net/ipv4/${name}`, read)
  return text === '' ? undefined : Number(text)
}

function textOf(path: string, read: (path: string) => string): string {
  try {
    return read(path)
  } catch {
    return ''
  }
}
