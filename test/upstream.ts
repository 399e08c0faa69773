import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import dnsPacket, { type Packet } from 'dns-packet'
import { freePort, startProcess, temporaryFolder } from './processes.js'
import { tool } from './tools.js'

/** A nameserver on loopback that answers for the outside world of the conformance cases. */
export interface Upstream {
  readonly address: string
  readonly port: number
  stop(): Promise<void>
}

/** What is asked of an upstream. */
export interface Asked {
  qname: string
  qtype: string
}

/** What an upstream says: the answer section's records are `owner ttl TYPE rdata`. */
export interface Said {
  rcode: string
  answer: string[]
  /** With AA. */
  isAuthoritative?: boolean
}

const address = '127.0.0.1'
const zoneFolder = fileURLToPath(new URL('../../test/conformance/upstream/', import.meta.url))

/** Starts the real pair, a recursive Unbound before an authoritative NSD; resolves when both answer. */
export async function startUpstream(): Promise<Upstream> {
  const folder = temporaryFolder()
  const ports = { NSD: await freePort(address), UNBOUND: await freePort(address) }
  copyConfiguration(folder.path, ports)
  // Unbound remembers a server that did not answer, so NSD must be there first.
  const nsd = await startProcess(tool('nsd'), ['-d', '-c', join(folder.path, 'nsd.conf')], { ready: () => answers(ports.NSD) })
  const unbound = await startProcess(tool('unbound'), ['-d', '-c', join(folder.path, 'unbound.conf')], {
    ready: () => answers(ports.UNBOUND)
  }).catch(async (error: unknown) => {
    await nsd.stop()
    throw error
  })
  return {
    address,
    port: ports.UNBOUND,
    async stop() {
      await Promise.all([unbound.stop(), nsd.stop()])
      folder.remove()
    }
  }
}

// Both write beside what they read, so they get a copy.
function copyConfiguration(folder: string, ports: { NSD: number; UNBOUND: number }): void {
  for (const name of readdirSync(zoneFolder)) {
    const text = readFileSync(join(zoneFolder, name), 'utf8')
    const filled = text.replaceAll('@DIR@', folder).replaceAll('@NSD@', `${ports.NSD}`).replaceAll('@UNBOUND@', `${ports.UNBOUND}`)
    writeFileSync(join(folder, name), filled)
  }
}

async function answers(port: number): Promise<boolean> {
  const said = await dig({ address, port }, { qname: 'host.example.org.', qtype: 'A' }).catch(() => undefined)
  return said?.answer.length === 1
}

/** Asks a server with dig (RD set, EDNS), and hands back what it said and the flags of aa tc rd ra that are set. */
export async function dig(server: { address: string; port: number }, asked: Asked): Promise<Said & { flags: string }> {
  const [said] = await digEach(server, [asked])
  return said!
}

/** Asks all the questions with one call of dig, which saves most of the time that they take. */
export async function digEach(server: { address: string; port: number }, asked: readonly Asked[]): Promise<(Said & { flags: string })[]> {
  const common = ['-r', `@${server.address}`, '-p', `${server.port}`, '+tries=1', '+time=2', '+noall', '+comments', '+answer']
  const { stdout } = await promisify(execFile)(tool('dig'), [...common, ...asked.flatMap(({ qname, qtype }) => ['-q', qname, '-t', qtype])])
  const replies = stdout
    .split(/^;; Got answer:$/m)
    .slice(1)
    .map(readDig)
  if (replies.length !== asked.length) throw new Error(`dig had ${replies.length} replies to ${asked.length} questions:\n${stdout}`)
  return replies
}

function readDig(text: string): Said & { flags: string } {
  const [, rcode = ''] = /status: (\w+)/.exec(text) ?? []
  const [, flags = ''] = /^;; flags: ([^;]*);/m.exec(text) ?? []
  const records = text.split('\n').filter((line) => line !== '' && !line.startsWith(';'))
  const shown = ['aa', 'tc', 'rd', 'ra'].filter((flag) => flags.split(' ').includes(flag))
  return { rcode, flags: shown.join(' '), answer: records.map((line) => line.replace(/^(\S+)\s+(\d+)\s+IN\s+(\S+)\s+/, '$1 $2 $3 ')) }
}

interface ZoneRecord {
  owner: string
  ttl: string
  type: string
  rdata: string
}

let outside: { apexes: string[]; records: ZoneRecord[] } | undefined

/** The records of the outside world, read once. */
export function outsideRecords(): readonly ZoneRecord[] {
  return readOutside().records
}

function readOutside() {
  if (outside === undefined) {
    const files = readdirSync(zoneFolder).filter((name) => name.endsWith('.zone'))
    const records = files.flatMap((name) => readZone(readFileSync(join(zoneFolder, name), 'utf8')))
    outside = { records, apexes: records.filter(({ type }) => type === 'SOA').map(({ owner }) => owner) }
  }
  return outside
}

// As much of the master file format as the three zone files use: $ORIGIN, and one record a line with its owner and TTL.
function readZone(text: string): ZoneRecord[] {
  let origin = '.'
  const absolute = (name: string) => (name === '@' ? origin : name.endsWith('.') ? name : `${name}.${origin}`)
  return text.split('\n').flatMap((line) => {
    const [owner, ttl = '', type = '', ...words] = line.split(' ')
    if (owner === '$ORIGIN') origin = ttl
    if (!owner || owner === '$ORIGIN' || owner.startsWith(';')) return []
    const names = { CNAME: 1, NS: 1, PTR: 1, SOA: 2 }[type] ?? 0
    const rdata = words.map((word, at) => (at < names ? absolute(word) : word)).join(' ')
    return [{ owner: absolute(owner), ttl, type, rdata }]
  })
}

/** Answers as the real pair does, from the same zone files; every name outside them does not exist. */
export function standIn({ qname, qtype }: Asked): Said {
  const { records } = readOutside()
  const answer: string[] = []
  for (let owner = qname, hops = 0; ; hops++) {
    const here = records.filter((record) => record.owner.toLowerCase() === owner.toLowerCase())
    const asked = here.filter(({ type }) => type === qtype || qtype === 'ANY')
    const alias = here.find(({ type }) => type === 'CNAME')
    const given = asked.length === 0 && alias ? [alias] : asked
    // The owner in the asker's spelling: both servers compress it to a pointer to the question.
    answer.push(...given.map(({ ttl, type, rdata }) => `${owner} ${ttl} ${type} ${rdata}`))
    if (asked.length > 0 || alias === undefined || hops === 8) return { rcode: exists(owner) ? 'NOERROR' : 'NXDOMAIN', answer }
    owner = alias.rdata
  }
}

// A name with names below it exists, though it has no records (RFC 8020); above an apex there is nothing.
function exists(qname: string): boolean {
  const { records, apexes } = readOutside()
  const isBelow = (name: string, above: string) => name === above || name.endsWith(`.${above}`)
  const name = qname.toLowerCase()
  return apexes.some((apex) => isBelow(name, apex)) && records.some(({ owner }) => isBelow(owner.toLowerCase(), name))
}

/** A stand-in that listens; `asked` holds the questions that it received, as `qname qtype`, in order. */
export interface ListeningStandIn extends Upstream {
  readonly asked: string[]
}

/** What a listening stand-in says, its own zones by default; undefined keeps silent. */
export type Answer = (asked: Asked) => Said | undefined

/** Serves on loopback over UDP and TCP with no program but this one; may answer late, or by a function of the test's. */
export async function startStandIn(options: { answer?: Answer; delayMs?: number } = {}): Promise<ListeningStandIn> {
  const { answer = standIn, delayMs = 0 } = options
  const port = await freePort(address)
  const asked: string[] = []
  let isStopped = false
  const respond = async (octets: Buffer, send: (octets: Buffer) => void) => {
    const reply = replyTo(octets, answer, asked)
    if (delayMs > 0) await sleep(delayMs)
    if (reply && !isStopped) send(reply)
  }
  const udp = createSocket('udp4')
  udp.on('message', (octets, client) => void respond(octets, (reply) => udp.send(reply, client.port, client.address)))
  const streams = new Set<Socket>()
  const tcp = createServer((stream) => {
    streams.add(stream.once('close', () => streams.delete(stream)).on('error', () => stream.destroy()))
    readFrames(stream, (octets) => void respond(octets, (reply) => stream.writable && stream.write(frame(reply))))
  })
  await Promise.all([
    new Promise<void>((resolve, reject) => udp.once('error', reject).bind(port, address, resolve)),
    new Promise<void>((resolve, reject) => tcp.once('error', reject).listen(port, address, resolve))
  ])
  return {
    address,
    port,
    asked,
    async stop() {
      isStopped = true
      for (const stream of streams) stream.destroy()
      await Promise.all([new Promise<void>((resolve) => udp.close(resolve)), new Promise((resolve) => tcp.close(resolve))])
    }
  }
}

const rcodes: Record<string, number> = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 }

function replyTo(octets: Buffer, answer: Answer, asked: string[]): Buffer | undefined {
  const query = readQuery(octets)
  const [question] = query?.questions ?? []
  if (query === undefined || question === undefined) return undefined
  const qname = question.name === '.' ? '.' : `${question.name}.`
  asked.push(`${qname} ${question.type}`)
  const said = question.class === 'IN' ? answer({ qname, qtype: question.type }) : { rcode: 'REFUSED', answer: [] }
  if (said === undefined) return undefined
  const own = said.isAuthoritative === true ? dnsPacket.AUTHORITATIVE_ANSWER : 0
  const flags = ((query.flags ?? 0) & dnsPacket.RECURSION_DESIRED) | dnsPacket.RECURSION_AVAILABLE | own | (rcodes[said.rcode] ?? 2)
  const opt = (query.additionals ?? []).some(({ type }) => type === 'OPT') ? [{ type: 'OPT', name: '.', udpPayloadSize: 1232 }] : []
  const reply = { type: 'response', id: query.id, flags, questions: query.questions, answers: said.answer.map(toPacket), additionals: opt }
  return dnsPacket.encode(reply as Packet)
}

// Junk meets silence: it may come from a test of the server under test, and must not end the test run.
function readQuery(octets: Buffer): Packet | undefined {
  try {
    const message = dnsPacket.decode(octets)
    return message.type === 'query' ? message : undefined
  } catch {
    return undefined
  }
}

function toPacket(record: string) {
  const [, name, ttl, type = '', rdata = ''] = /^(\S+) (\d+) (\S+) (.*)$/.exec(record) ?? []
  return { name, ttl: Number(ttl), type, class: 'IN', data: type === 'SOA' ? toSoa(rdata) : type === 'TXT' ? toStrings(rdata) : rdata }
}

function toSoa(rdata: string) {
  const [mname, rname, ...numbers] = rdata.split(' ')
  const [serial, refresh, retry, expire, minimum] = numbers.map(Number)
  return { mname, rname, serial, refresh, retry, expire, minimum }
}

function toStrings(rdata: string): Buffer[] {
  return [...rdata.matchAll(/"([^"]*)"/g)].map(([, text = '']) => Buffer.from(text))
}

function readFrames(stream: Socket, use: (octets: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (; rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0); rest = rest.subarray(2 + rest.readUInt16BE(0))) {
      use(rest.subarray(2, 2 + rest.readUInt16BE(0)))
    }
  })
}

function frame(octets: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(octets.length)
  return Buffer.concat([length, octets])
}
