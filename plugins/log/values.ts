/** What placeholders of a format stand for. A value is one word without quotes, whatever octets a name or a reason has. */
import { type Fact, fact, type Query, type Sent } from 'skein/plugin'

/** Makes a part of a line. */
export type Part = (query: Query, sent: Sent) => string

const cacheHit = fact<boolean>('cache/hit')

/** Where there is nothing to say. */
const NOTHING = '-'

/** CoreDNS's placeholders with their names there, then ours. */
export const PLACEHOLDERS: ReadonlyMap<string, Part> = new Map<string, Part>([
  ['{type}', (query) => query.qtype],
  ['{class}', (query) => query.qclass],
  ['{name}', (query) => withoutQuotes(query.qname)],
  ['{proto}', protocol],
  ['{size}', (query) => String(query.size)],
  ['{remote}', (query) => bracketed(query.client.address)],
  ['{port}', (query) => String(query.client.port)],
  ['{local}', (query) => bracketed(query.client.local)],
  ['{>id}', (query) => String(query.id)],
  ['{>opcode}', (query) => String(opcode(query))],
  ['{>do}', (query) => (query.dnssecOk ? 'true' : 'false')],
  ['{>bufsize}', (query) => String(bufsize(query))],
  ['{rcode}', (_query, sent) => rcode(sent) ?? NOTHING],
  ['{>rflags}', (_query, { reply, flags }) => (typeof reply === 'symbol' ? NOTHING : shownFlags(flags))],
  ['{rsize}', (_query, { octets }) => String(octets)],
  ['{duration}', (_query, { milliseconds }) => `${seconds(milliseconds)}s`],
  ['{layer}', (_query, { layer }) => word(layer)],
  ['{why}', (_query, sent) => word(why(sent))],
  ['{upstream}', (_query, sent) => word(upstream(sent))],
  ['{cache}', (query) => cache(query) ?? NOTHING]
])

/** A label of CoreDNS's metadata: the fact of that name, where a plugin has set one. */
export function metadata(label: string): Part {
  if (label === 'forward/upstream') return (_query, sent) => word(upstream(sent))
  const key: Fact<unknown> = { name: label }
  return (query) => {
    const value = query.get(key)
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : word(value)
  }
}

/** CoreDNS knows these two: what is over them is not told. */
export function protocol({ client: { transport } }: Query): 'udp' | 'tcp' {
  return transport === 'udp' || transport === 'quic' ? 'udp' : 'tcp'
}

/** What a reply may take up, as CoreDNS has it: a stream has no limit but its own, and no size is below 512 (RFC 6891 §6.2.5). */
export function bufsize(query: Query): number {
  return protocol(query) === 'tcp' ? 65535 : Math.max(512, query.edns?.size ?? 512)
}

/** The bits of a header between QR and AA (RFC 1035 §4.1.1). */
export function opcode({ flags }: Query): number {
  return (flags >> 11) & 0xf
}

/** As the client got it; undefined where nothing was answered. */
export function rcode(sent: Sent): string | undefined {
  return typeof sent.reply === 'symbol' ? undefined : sent.rcode
}

/** The reason, which a plugin in JavaScript may have made of anything. */
export function why({ reply }: Sent): string | undefined {
  return typeof reply === 'symbol' ? 'dropped' : text(reply.why)
}

/** The server that the answer was got from. */
export function upstream({ reply }: Sent): string | undefined {
  return typeof reply === 'symbol' ? undefined : text(reply.origin?.upstream)
}

/** Whether the cache had the answer; undefined where no cache says so. */
export function cache(query: Query): 'hit' | 'miss' | undefined {
  const hit = query.get(cacheHit)
  return hit === undefined ? undefined : hit ? 'hit' : 'miss'
}

/** Seconds as Go writes them: to the nanosecond, without an exponent, and no zero at the end. */
export function seconds(milliseconds: number): string {
  const shown = (milliseconds / 1000).toFixed(9)
  let end = shown.length
  while (shown.charCodeAt(end - 1) === 0x30) end--
  return shown.slice(0, shown.charCodeAt(end - 1) === 0x2e ? end - 1 : end)
}

/** A text that is not empty, else undefined. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function word(value: unknown): string {
  const given = text(value)
  if (given === undefined) return NOTHING
  for (let i = 0; i < given.length; i++) {
    const code = given.charCodeAt(i)
    if (code < 0x21 || code > 0x7e) return given.replace(/[^!-~]+/g, '-')
  }
  return given
}

/** The quotes in a line are the format's own. */
function withoutQuotes(name: string): string {
  return name.includes('"') ? name.replaceAll('\\"', '\\034') : name
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

const FLAGS = ['qr', 'aa', 'tc', 'rd', 'ra', 'z', 'ad', 'cd'] as const
/** The bits of a header's second word that these are, in their order. */
const BITS = [0x8000, 0x0400, 0x0200, 0x0100, 0x0080, 0x0040, 0x0020, 0x0010] as const

/** All that there are, by QR and the seven bits below the opcode: made once, as each line has them. */
const SHOWN_FLAGS = Array.from({ length: 256 }, (_, index) => {
  const flags = ((index & 0x80) << 8) | ((index & 0x7f) << 4)
  return FLAGS.filter((_name, at) => (flags & BITS[at]!) !== 0).join(',')
})

function shownFlags(flags: number): string {
  return SHOWN_FLAGS[((flags >> 8) & 0x80) | ((flags >> 4) & 0x7f)]!
}
