/** Records as people read them: presentation format (RFC 1035 §5.1, RFC 3597 §5). */
import { shownDnssec } from './dnssec-rdata.js'
import { type ResourceRecord, rdataOctets } from './record.js'

/** `owner ttl [class] TYPE rdata`; the class is left out where it is IN. */
export function shownRecord(record: ResourceRecord): string {
  const klass = record.class === undefined || record.class === 'IN' ? '' : `${record.class} `
  return `${record.owner} ${record.ttl} ${klass}${record.type} ${shownRdata(record)}`
}

/** The rdata alone. */
export function shownRdata(record: ResourceRecord): string {
  if (record.rdata instanceof Uint8Array) return shownDnssec(record.type, record.rdata) ?? opaque(record.rdata)
  switch (record.type) {
    case 'A':
    case 'AAAA':
    case 'NS':
    case 'CNAME':
    case 'PTR':
    case 'DNAME':
      return record.rdata
    case 'MX':
      return `${record.rdata.preference} ${record.rdata.exchange}`
    case 'SRV':
      return `${record.rdata.priority} ${record.rdata.weight} ${record.rdata.port} ${record.rdata.target}`
    case 'SOA': {
      const { mname, rname, serial, refresh, retry, expire, minimum } = record.rdata
      return `${mname} ${rname} ${serial} ${refresh} ${retry} ${expire} ${minimum}`
    }
    case 'TXT':
      return record.rdata.map(shownString).join(' ')
    case 'HINFO':
      return `${shownString(record.rdata.cpu)} ${shownString(record.rdata.os)}`
    default: {
      const octets = rdataOctets(record)
      return shownDnssec(record.type, octets) ?? opaque(octets)
    }
  }
}

/** A character-string in quotes; octets beyond printable ASCII as `\DDD`. */
export function shownString(text: string | Uint8Array): string {
  const octets = typeof text === 'string' ? Buffer.from(text, 'utf8') : text
  return `"${Array.from(octets, shownOctet).join('')}"`
}

function shownOctet(octet: number): string {
  const character = String.fromCharCode(octet)
  if (character === '"' || character === '\\') return `\\${character}`
  return octet >= 0x20 && octet < 0x7f ? character : `\\${String(octet).padStart(3, '0')}`
}

function opaque(octets: Uint8Array): string {
  return `\\# ${octets.length}${octets.length === 0 ? '' : ` ${Buffer.from(octets).toString('hex')}`}`
}
