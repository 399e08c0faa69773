import { canonicalName, type Entry, ipv4Octets, ipv4Text, ipv6Octets, ipv6Text, type Key, RecordError, shown } from 'skein/plugin'
import { type Fields, readFields } from './fields.js'

/** An address or a name that a service stands for. */
export type Host = { readonly kind: 'A' | 'AAAA'; readonly address: string } | { readonly kind: 'name'; readonly name: string }

/** SkyDNS's record: what one key of the store says. */
export interface Service {
  readonly key: Key
  /** The store's revision when it was last set. */
  readonly modified: number
  /** Undefined where it has none: then it has text at most. */
  readonly host: Host | undefined
  readonly port: number
  /** 0 where the value does not say. */
  readonly priority: number
  /** 0 where the value does not say. */
  readonly weight: number
  readonly text: string
  readonly mail: boolean
  /** Seconds: the value's, or the default, and never more than what is left of the key's lease. */
  readonly ttl: number
  /** Seconds: the value's, or the default, whatever the lease. */
  readonly originalTtl: number
  readonly targetStrip: number
  readonly group: string
}

/** Why a value is no service, in words. */
export class ServiceProblem {
  readonly problem: string

  constructor(problem: string) {
    this.problem = problem
  }
}

const MAX_16 = 0xffff
const MAX_TTL = 0x7fffffff

/** What the TTL of a service depends on besides its value. */
export interface Times {
  /** Seconds, for values that say none. */
  readonly ttl: number
  /** The wall clock, in milliseconds. */
  readonly now: number
  /** How many seconds an answer may rest on a key whose lease has so many milliseconds left; of one that may be over, 0 or less. */
  readonly leaseTtl: (leftMs: number) => number
}

/** Reads an entry's value. */
export function readService(entry: Entry, times: Times): Service | ServiceProblem {
  let fields: Fields
  try {
    fields = readFields(entry.value)
  } catch (error) {
    return new ServiceProblem(error instanceof TypeError ? 'is no JSON object' : 'is no JSON')
  }
  try {
    const ttl = number('ttl', fields.ttl, MAX_TTL) || times.ttl
    const left = entry.expires === undefined ? ttl : times.leaseTtl(entry.expires - times.now)
    return {
      key: entry.key,
      modified: entry.modified,
      host: readHost(string('host', fields.host)),
      port: number('port', fields.port, MAX_16),
      priority: number('priority', fields.priority, MAX_16),
      weight: number('weight', fields.weight, MAX_16),
      text: string('text', fields.text),
      mail: boolean('mail', fields.mail),
      ttl: Math.min(ttl, left),
      originalTtl: ttl,
      targetStrip: number('targetstrip', fields.targetstrip, MAX_TTL),
      group: string('group', fields.group)
    }
  } catch (error) {
    if (error instanceof ServiceProblem) return error
    throw error
  }
}

function number(field: string, value: unknown, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max) {
    throw new ServiceProblem(`has ${field} ${shownValue(value)}, expected a whole number from 0 to ${max}`)
  }
  return value
}

function string(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new ServiceProblem(`has ${field} ${shownValue(value)}, expected text in quotes`)
  return value
}

function boolean(field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new ServiceProblem(`has ${field} ${shownValue(value)}, expected true or false`)
  return value
}

function readHost(text: string): Host | undefined {
  if (text === '') return undefined
  if (ipv4Octets(text) !== undefined) return { kind: 'A', address: text }
  const octets = ipv6Octets(text)
  if (octets !== undefined) {
    // An IPv4 address in IPv6 clothes is an IPv4 address.
    const mapped = octets.subarray(0, 10).every((octet) => octet === 0) && octets[10] === 0xff && octets[11] === 0xff
    return mapped ? { kind: 'A', address: ipv4Text(octets, 12) } : { kind: 'AAAA', address: ipv6Text(octets) }
  }
  try {
    return { kind: 'name', name: canonicalName(text) }
  } catch (error) {
    if (error instanceof RecordError) throw new ServiceProblem(`has host ${shown(text)}, expected an address or a name: ${error.message}`)
    throw error
  }
}

function shownValue(value: unknown): string {
  if (typeof value === 'string') return shown(value)
  try {
    return JSON.stringify(value).slice(0, 80)
  } catch {
    // What has thousands of lists in lists can be read, and not be written.
    return 'something deep'
  }
}
