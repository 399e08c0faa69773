import type { Query, Reply } from 'skein/plugin'

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
 * CoreDNS's common format: `{remote}:{port} - {>id} "{type} {class} {name} {proto} {>do} {>bufsize}" {rcode} {>rflags} {duration}`,
 * then why the answer is so. The name is in presentation format, so no octet of it can break the line.
 */
export function line(query: Query, reply: Reply | undefined, seconds: number): string {
  const { client, edns } = query
  const remote = client.address.includes(':') ? `[${client.address}]` : client.address
  const size = edns?.size ?? (client.transport === 'udp' ? 512 : 65535)
  const asked = `${query.qtype} ${query.qclass} ${quotable(query.qname)} ${client.transport === 'udp' ? 'udp' : 'tcp'} ${query.dnssecOk} ${size}`
  return `${remote}:${client.port} - ${query.id} "${asked}" ${outcome(reply)} ${seconds.toFixed(9)}s`
}

function outcome(reply: Reply | undefined): string {
  if (typeof reply === 'symbol') return '- - dropped'
  // A plugin that threw, or returned nothing: the client gets SERVFAIL.
  if (reply?.rcode === undefined) return 'SERVFAIL - fault'
  const flags = FLAGS.flatMap(([name, bit]) => (reply.flags & bit ? [name] : [])).join(',')
  return `${reply.rcode} ${flags} ${reply.why ?? '-'}`
}

/** The quotes around the question are the line's own. */
function quotable(name: string): string {
  return name.replaceAll('\\"', '\\034')
}
