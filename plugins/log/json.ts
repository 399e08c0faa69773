/** A query as an object of JSON on one line, with the names that CoreDNS has since 1.15, and ours after them. */
import type { Clock } from 'skein/plugin'
import { bufsize, cache, opcode, type Part, protocol, rcode, seconds, text, upstream, why } from './values.js'

/** Makes what writes such lines; `msg` makes the line of the FORMAT, which stands in them as `msg`. */
export function jsonRecord(msg: Part, clock: Clock): Part {
  const time = timeText()
  return (query, sent) => {
    const { client } = query
    return (
      `{"time":"${time(clock.now())}","level":"INFO","msg":${JSON.stringify(msg(query, sent))},"plugin":"log"` +
      `,"client_ip":${JSON.stringify(client.address)},"client_port":${client.port}` +
      `,"qname":${JSON.stringify(query.qname)},"qtype":"${query.qtype}","qclass":"${query.qclass}","protocol":"${protocol(query)}"` +
      `,"id":${query.id},"opcode":${opcode(query)},"request_size":${query.size},"dnssec_ok":${query.dnssecOk},"bufsize":${bufsize(query)}` +
      `,"rcode":${orNull(rcode(sent))},"response_size":${sent.octets},"duration_seconds":${seconds(sent.milliseconds)}` +
      `,"layer":${orNull(text(sent.layer))},"why":${orNull(why(sent))},"upstream":${orNull(upstream(sent))},"cache":${orNull(cache(query))}}`
    )
  }
}

function orNull(value: string | undefined): string {
  return value === undefined ? 'null' : JSON.stringify(value)
}

/** A moment in words; the queries of one millisecond share them. */
function timeText(): (now: number) => string {
  let last = Number.NaN
  let shown = ''
  return (now) => {
    if (now !== last) {
      last = now
      shown = new Date(now).toISOString()
    }
    return shown
  }
}
