/** Reads signed replies as a validator does, for tests: signatures are verified, proofs are read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalRdata, generateKeyPair, nameOctets, type ResourceRecord, typeName, typeNumber, type ZoneKey } from 'skein/plugin'
import { type AskOptions, Message, type TestServer } from 'skein/testing'

/** A folder with keys, removed when the test is over. */
export interface KeyFolder {
  readonly path: string
  readonly keys: readonly ZoneKey[]
  remove(): void
}

/** Makes a key for each zone and algorithm. */
export async function keyFolder(...wanted: readonly (readonly [zone: string, algorithm?: number, flags?: number])[]): Promise<KeyFolder> {
  const path = mkdtempSync(join(tmpdir(), 'skein-dnssec-'))
  const keys: ZoneKey[] = []
  for (const [zone, algorithm = 13, flags = 257] of wanted) {
    const { name, publicText, privateText, key } = await generateKeyPair(zone, algorithm, flags)
    writeFileSync(join(path, `${name}.key`), publicText)
    writeFileSync(join(path, `${name}.private`), privateText)
    keys.push(key)
  }
  return { path, keys, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A reply, record by record: `owner TYPE rdata`, signatures as `owner RRSIG TYPE` where they verify, else as `… bogus`. */
export interface Judged {
  readonly rcode: string
  readonly answer: readonly string[]
  readonly authority: readonly string[]
  readonly additional: readonly string[]
  readonly message: Message
}

/** Asks with DO, and judges what comes. */
export async function judged(server: TestServer, keys: readonly ZoneKey[], question: string, options: AskOptions = {}): Promise<Judged> {
  const { octets, rcode } = await server.ask(question, { edns: 4096, dnssecOk: true, ...options })
  const message = Message.fromOctets(octets)
  const sections = [message.answer, message.authority, message.additional]
  const [answer, authority, additional] = sections.map((records) => records.map((record) => shown(record, records, keys)))
  return { rcode, answer: answer!, authority: authority!, additional: additional!, message }
}

function shown(record: ResourceRecord, section: readonly ResourceRecord[], keys: readonly ZoneKey[]): string {
  const { owner, type } = record
  if (type === 'RRSIG') return `${owner} RRSIG ${typeName(u16(octetsOf(record), 0))}${verifies(record, section, keys) ? '' : ' bogus'}`
  if (type === 'NSEC' || type === 'NSEC3') return `${owner} ${type} ${typesOf(record).join(' ')}`.trimEnd()
  return `${owner} ${type}${typeof record.rdata === 'string' ? ` ${record.rdata}` : ''}`
}

/** The types that an NSEC or NSEC3 record lists. */
export function typesOf(record: ResourceRecord): string[] {
  const rdata = octetsOf(record)
  let at = record.type === 'NSEC3' ? 5 + rdata[4]! + 1 + rdata[5 + rdata[4]!]! : nameEnd(rdata)
  const types: string[] = []
  for (; at < rdata.length; at += 2 + rdata[at + 1]!) {
    for (let bit = 0; bit < 8 * rdata[at + 1]!; bit++)
      if (rdata[at + 2 + (bit >> 3)]! & (0x80 >> (bit & 7)))
        types.push(bit + 256 * rdata[at]! === 128 ? 'NXNAME' : typeName(bit + 256 * rdata[at]!))
  }
  return types
}

/** Whether a signature is one of the RRset of its owner and type beside it, by one of these keys (RFC 4035 §5.3). */
function verifies(signature: ResourceRecord, section: readonly ResourceRecord[], keys: readonly ZoneKey[]): boolean {
  const rdata = octetsOf(signature)
  const owner = signature.owner.toLowerCase()
  const type = typeName(u16(rdata, 0))
  const signed = section.filter((record) => record.type === type && record.class === 'IN' && record.owner.toLowerCase() === owner)
  const signerEnd = 18 + nameEnd(rdata.subarray(18))
  const key = keys.find(({ tag, algorithm, zone }) => {
    return tag === u16(rdata, 16) && algorithm === rdata[2] && Buffer.from(nameOctets(zone)).equals(rdata.subarray(18, signerEnd))
  })
  if (key === undefined || signed.length === 0) return false
  const name = nameOctets(owner)
  const fixed = (length: number): Buffer => {
    const octets = Buffer.alloc(10)
    octets.writeUInt16BE(typeNumber(type)!, 0)
    octets.writeUInt16BE(1, 2)
    octets.set(rdata.subarray(4, 8), 4)
    octets.writeUInt16BE(length, 8)
    return octets
  }
  const rdatas = signed.map(canonicalRdata).toSorted((a, b) => Buffer.compare(a, b))
  const records = rdatas.flatMap((each) => [name, fixed(each.length), each])
  return key.verifies(Buffer.concat([rdata.subarray(0, signerEnd), ...records]), rdata.subarray(signerEnd))
}

function octetsOf({ rdata }: ResourceRecord): Buffer {
  return Buffer.from(rdata as Uint8Array)
}

function u16(octets: Uint8Array, at: number): number {
  return (octets[at]! << 8) | octets[at + 1]!
}

function nameEnd(octets: Uint8Array): number {
  let at = 0
  while (octets[at] !== 0) at += octets[at]! + 1
  return at + 1
}
