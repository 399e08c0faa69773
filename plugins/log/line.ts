import type { Query, Sent } from 'skein/plugin'

const FLAGS = [
  ['qr', 0x8000],
  ['aa', 0x0400],
  ['tc', 0x0200],
  ['rd', 0x0100],
  ['ra', 0x0080],
  ['ad', 0x0020],
  ['cd', 0x0010]
] as const

/**
 * CoreDNS's common format, `{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" {rcode} {>rflags} {rsize}
 * {duration}`, then why the answer is so. The name is in presentation format, so no octet of it can break the line.
 */
export function line(query: Query, { reply, rcode, flags, octets, milliseconds }: Sent): string {
  const { client, edns } = query
  const remote = client.address.includes(':') ? `[${client.address}]` : client.address
  const protocol = client.transport === 'udp' ? 'udp' : 'tcp'
  const size = edns?.size ?? (client.transport === 'udp' ? 512 : 65535)
  const asked = `${query.qtype} ${query.qclass} ${quotable(query.qname)} ${protocol} ${query.size} ${query.dnssecOk} ${size}`
  const told = typeof reply === 'symbol' ? '- - 0' : `${rcode} ${shownFlags(flags)} ${octets}`
  const why = typeof reply === 'symbol' ? 'dropped' : word(reply.why)
  return `${remote}:${client.port} - ${query.id} "${asked}" ${told} ${(milliseconds / 1000).toFixed(9)}s ${why}`
}

function shownFlags(flags: number): string {
  return FLAGS.flatMap(([name, bit]) => (flags & bit ? [name] : [])).join(',')
}

/** Whatever a plugin gives as reason, the last word of the line is one: it may have taken it from what somebody else said. */
function word(why: unknown): string {
  return typeof why === 'string' && why !== '' ? why.replace(/[^!-~]+/g, '-') : '-'
}

/** The quotes around the question are the line's own. */
function quotable(name: string): string {
  return name.replaceAll('\\"', '\\034')
}
