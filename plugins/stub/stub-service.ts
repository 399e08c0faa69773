import { type Entry, shown, type Upstream, upstreamAt } from 'skein/plugin'

/** The server that a service under `stub.dns` names, or what is wrong with its value, in words. */
export function serverOfService({ value }: Pick<Entry, 'value'>): Upstream | string {
  let service: unknown
  try {
    service = JSON.parse(value.toString('utf8'))
  } catch {
    return 'is no JSON'
  }
  if (typeof service !== 'object' || service === null || Array.isArray(service)) return 'is no JSON object'
  const host = field(service, 'host') ?? ''
  const port = field(service, 'port') ?? 0
  if (typeof host !== 'string') return 'has a host that is no text'
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 0 || port > 0xffff) return 'has a port that is none'
  return upstreamAt(host, port === 0 ? undefined : port) ?? `has host ${shown(host)}, expected an address`
}

/** Go's decoder takes fields in any case. */
function field(service: object, name: string): unknown {
  for (const [key, value] of Object.entries(service)) if (key.toLowerCase() === name && value !== null) return value
  return undefined
}
