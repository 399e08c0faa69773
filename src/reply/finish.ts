/** What a finished reply needs: the asker's ID and question, EDNS, compression, and a size that fits (RFC 2181 §9). */
import { AA, AD, CD, type Message, QR, RA, RD, TC } from '../message/message.js'
import { isWithin } from '../message/name.js'
import { PackedReply } from '../message/packed.js'
import { u16 } from '../message/read.js'
import { errorOptions, reasonsOf } from '../message/reasons.js'
import type { ResourceRecord } from '../message/record.js'
import { type Rcode, rcodeNumber, TYPE_OPT } from '../message/registry.js'
import { Writer } from '../message/writer.js'
import type { Query } from '../query.js'
import { groupAt } from './rrset.js'
import { PLAIN_UDP_SIZE, replyLimit, SizeError, STREAM_SIZE } from './size.js'

/** Where a reply goes: the buffer of whoever drives the socket. */
export interface Outgoing {
  /** Room for `size` octets, to be written before anything else happens, then given to `send`. */
  reserve(size: number): Uint8Array
  /** Sends the first `length` octets of what was reserved. */
  send(length: number): void
  /** Sends nothing. */
  drop(): void
}

/** What of a message was sent. */
export interface Written {
  readonly flags: number
  readonly octets: number
}

const DO = 0x8000
const CO = 0x4000
const OPT_OCTETS = 11

const writer = new Writer()

/**
 * Writes the reply to a query and sends it. `udpSize` is the operator's cap, and what our OPT record advertises.
 * Gives the flags and size of what was sent. Throws RecordError, FormatError or SizeError, and has sent nothing, where it cannot be written.
 */
export function finish(query: Query, reply: Message, out: Outgoing, udpSize: number): Written {
  const limit = replyLimit(query, udpSize)
  if (reply instanceof PackedReply && fits(query, reply, limit)) return replay(query, reply, out, limit, udpSize)
  const octets = out.reserve(limit)
  const room = query.edns === undefined ? limit : limit - OPT_OCTETS
  const rcode = rcodeNumber(sentRcode(query, reply))
  const flags = replyFlags(query, reply, rcode)
  let additional = 0
  start(query, octets, room, flags)
  if (writeAll(reply, query.dnssecOk)) additional = writeAdditional(reply, flags)
  else {
    // A client that has come by stream has no better way to ask again.
    if (limit === STREAM_SIZE) throw new SizeError(`a reply to ${query.qname} ${query.qtype} of more than ${STREAM_SIZE} octets`)
    start(query, octets, room, flags | TC)
    writer.count(6, writeSome(reply.answer, query.dnssecOk))
  }
  if (query.edns !== undefined) {
    writer.limit = limit
    writeOpt(query, reply, rcode, udpSize)
    additional++
  }
  writer.count(10, additional)
  const written = { flags: u16(octets, 2), octets: writer.at }
  out.send(written.octets)
  return written
}

/** Whether a packed reply can go to this client as it is. */
function fits({ edns, question }: Query, reply: PackedReply, limit: number): boolean {
  const opt = edns === undefined ? 0 : OPT_OCTETS + reply.optionOctets
  return reply.length + opt <= limit && reply.hasPlainRcode && reply.isFor(question)
}

/** Sends a packed reply: the same octets as if it were written anew. */
function replay(query: Query, reply: PackedReply, out: Outgoing, limit: number, udpSize: number): Written {
  const octets = out.reserve(limit)
  const flags = replyFlags(query, reply, reply.flags)
  let at = reply.length
  reply.copyTo(octets, query.question)
  put16(octets, 0, query.id)
  put16(octets, 2, flags)
  if (query.edns !== undefined) {
    put16(octets, 10, u16(octets, 10) + 1)
    octets[at] = 0
    put16(octets, at + 1, TYPE_OPT)
    put16(octets, at + 3, Math.max(PLAIN_UDP_SIZE, udpSize))
    put16(octets, at + 5, 0)
    put16(octets, at + 7, ednsFlags(query, reply))
    put16(octets, at + 9, reply.optionOctets)
    at = reply.copyOptionsTo(octets, at + OPT_OCTETS)
  }
  out.send(at)
  return { flags, octets: at }
}

function put16(octets: Uint8Array, at: number, value: number): void {
  octets[at] = value >> 8
  octets[at + 1] = value & 0xff
}

function start({ id, question, qname }: Query, octets: Uint8Array, limit: number, flags: number): void {
  writer.begin(octets, limit, id, flags)
  writer.asked(question, qname)
}

/** The rcode that the client gets: one of more than four bits needs an OPT record; without one its lower half would mean something else. */
export function sentRcode(query: Query, reply: Message): Rcode {
  return query.edns === undefined && rcodeNumber(reply.rcode) > 0xf ? 'SERVFAIL' : reply.rcode
}

/**
 * QR, the asker's RD and CD, the reply's AA and RA, its AD for those who asked for it (RFC 6840 §5.8),
 * and its TC: what an upstream has cut is not whole here either.
 */
function replyFlags(query: Query, reply: Message, rcode: number): number {
  const kept = reply.flags & (AA | RA | (query.wantsAd ? AD : 0) | TC)
  return QR | (query.flags & (RD | CD)) | kept | (rcode & 0xf)
}

/**
 * Writes answer and authority; false where they do not fit. Beside an answer the authority section is a courtesy, which goes
 * without TC, unless it may prove something (RFC 4035 §3.1.3.3).
 */
function writeAll({ answer, authority }: Message, dnssecOk: boolean): boolean {
  if (!writer.records(answer, 0, answer.length)) return false
  writer.count(6, answer.length)
  if (writer.records(authority, 0, authority.length)) writer.count(8, authority.length)
  else if (answer.length === 0 || dnssecOk) return false
  return true
}

/** Writes the first records that fit, whole; with DO whole RRsets with their signatures. Gives their number. */
function writeSome(records: readonly ResourceRecord[], dnssecOk: boolean): number {
  let written = 0
  while (written < records.length) {
    const next = dnssecOk ? groupAt(records, written) : written + 1
    if (!writer.records(records, written, next)) break
    written = next
  }
  return written
}

/** Writes the RRsets of the additional section that fit; what does not is left out without TC, but for a referral's own glue. */
function writeAdditional(reply: Message, flags: number): number {
  const records = reply.additional
  let written = 0
  for (let at = 0; at < records.length; ) {
    const next = groupAt(records, at)
    // A signature of the whole message holds for one hop (RFC 8945 §5.1, RFC 2931 §3).
    if (records[at]!.type === 'TSIG' || records[at]!.type === 'SIG') {
      at = next
      continue
    }
    if (writer.records(records, at, next)) written += next - at
    else if (isGlue(reply, records[at]!)) writer.flags(flags | TC)
    at = next
  }
  return written
}

/** Whether a client cannot follow this referral without the record (RFC 9471 §3.1). */
function isGlue(reply: Message, { owner, type }: ResourceRecord): boolean {
  if (reply.flags & AA || reply.answer.length > 0 || (type !== 'A' && type !== 'AAAA')) return false
  const name = owner.toLowerCase()
  return reply.authority.some((record) => record.type === 'NS' && isWithin(name, record.owner.toLowerCase()))
}

/** DO and CO, of those that the query has: CO where the reply minds it. */
function ednsFlags(query: Query, reply: Message): number {
  return query.dnssecOk ? (reply.compactOk && query.compactOk ? DO | CO : DO) : 0
}

function writeOpt(query: Query, reply: Message, rcode: number, udpSize: number): void {
  const size = Math.max(PLAIN_UDP_SIZE, udpSize)
  const flags = ednsFlags(query, reply)
  // A reason must not push an answer out: without room for it the plain record goes, for which room was kept.
  if (!writer.opt(size, rcode, flags, errorOptions(rcode === 0 ? reply.extendedErrors : reasonsOf(reply))))
    writer.opt(size, rcode, flags, [])
}
