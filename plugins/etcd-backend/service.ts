import { canonicalName, type Entry, ipv4Octets, ipv4Text, ipv6Octets, ipv6Text, type Key, RecordError, shown } from 'skein/plugin'

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

/** What a value says of a service, yet to be checked. */
interface Fields {
  ttl: unknown
  host: unknown
  port: unknown
  priority: unknown
  weight: unknown
  text: unknown
  mail: unknown
  targetstrip: unknown
  group: unknown
}

/** Reads an entry's value; `now` in milliseconds bounds the TTL by what is left of the key's lease. */
export function readService(entry: Entry, defaultTtl: number, now: number): Service | ServiceProblem {
  let value: unknown
  try {
    value = JSON.parse(entry.value.toString('utf8'))
  } catch {
    return new ServiceProblem('is no JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new ServiceProblem('is no JSON object')
  const fields = fieldsOf(value as Readonly<Record<string, unknown>>)
  try {
    const ttl = number(fields, 'ttl', MAX_TTL) || defaultTtl
    const left = entry.expires === undefined ? ttl : Math.max(0, Math.ceil((entry.expires - now) / 1000))
    return {
      key: entry.key,
      modified: entry.modified,
      host: readHost(string(fields, 'host')),
      port: number(fields, 'port', MAX_16),
      priority: number(fields, 'priority', MAX_16),
      weight: number(fields, 'weight', MAX_16),
      text: string(fields, 'text'),
      mail: boolean(fields, 'mail'),
      ttl: Math.min(ttl, left),
      targetStrip: number(fields, 'targetstrip', MAX_TTL),
      group: string(fields, 'group')
    }
  } catch (error) {
    if (error instanceof ServiceProblem) return error
    throw error
  }
}

/** The fields of SkyDNS's JSON, whose names Go's decoder takes in any case. Of one that comes twice the last counts, and null is as if it was left out. */
function fieldsOf(value: Readonly<Record<string, unknown>>): Fields {
  const fields: Fields = { ttl: 0, host: '', port: 0, priority: 0, weight: 0, text: '', mail: false, targetstrip: 0, group: '' }
  for (const field in value) {
    const content = value[field]
    const name = field.toLowerCase()
    if (content !== null && Object.hasOwn(fields, name)) fields[name as keyof Fields] = content
  }
  return fields
}

function number(fields: Fields, field: keyof Fields, max: number): number {
  const value = fields[field]
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max) {
    throw new ServiceProblem(`has ${field} ${shownValue(value)}, expected a whole number from 0 to ${max}`)
  }
  return value
}

function string(fields: Fields, field: keyof Fields): string {
  const value = fields[field]
  if (typeof value !== 'string') throw new ServiceProblem(`has ${field} ${shownValue(value)}, expected text in quotes`)
  return value
}

function boolean(fields: Fields, field: keyof Fields): boolean {
  const value = fields[field]
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
  return typeof value === 'string' ? shown(value) : JSON.stringify(value).slice(0, 80)
}
