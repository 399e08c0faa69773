/** Reads signed replies as a validator does, for tests: signatures are verified, proofs are read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalRdata, coveredType, generateKeyPair, nameOctets, type ResourceRecord, typeNumber, type ZoneKey } from 'skein/plugin'
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
  const read = await server.ask(question, { edns: 4096, dnssecOk: true, ...options })
  const message = Message.fromOctets(read.octets)
  const shownAll = (section: 'answer' | 'authority' | 'additional'): string[] =>
    message[section].map((record, index) => shown(record, read[section][index]!, message[section], keys))
  return { rcode: read.rcode, answer: shownAll('answer'), authority: shownAll('authority'), additional: shownAll('additional'), message }
}

/** Of an NSEC record the types behind the next name; of an NSEC3 record those behind its parameters and the next hash. */
function shown(record: ResourceRecord, text: string, section: readonly ResourceRecord[], keys: readonly ZoneKey[]): string {
  const { owner, type } = record
  if (type === 'RRSIG') return `${owner} RRSIG ${coveredType(record)}${verifies(record, section, keys) ? '' : ' bogus'}`
  if (type === 'NSEC' || type === 'NSEC3') return [owner, type, ...text.split(' ').slice(type === 'NSEC' ? 4 : 8)].join(' ')
  return `${owner} ${type}${typeof record.rdata === 'string' ? ` ${record.rdata}` : ''}`
}

/** Whether a signature is one of the RRset of its owner and type beside it, by one of these keys (RFC 4035 §5.3). */
function verifies(signature: ResourceRecord, section: readonly ResourceRecord[], keys: readonly ZoneKey[]): boolean {
  const rdata = octetsOf(signature)
  const owner = signature.owner.toLowerCase()
  const type = coveredType(signature)!
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
