/** Has a validator judge what a server says, and compares it with what the server says to those who want no signatures. */
import { randomInt } from 'node:crypto'
import { requestOctets } from '../src/testing.js'
import { openClient } from './dns-client.js'
import type { Question } from './dnssec-questions.js'
import { contentOf, isWithin, type Labels, lower, nameIn, readReply, shown, signaturesIn, type WireReply } from './dnssec-wire.js'

/** How a question is asked. */
export interface Asking {
  readonly dnssecOk?: boolean
  /** The CO flag beside DO (RFC 9824 §5.1). */
  readonly compactOk?: boolean
  /** Has a validator hand out what it finds bogus (the CD bit). */
  readonly unchecked?: boolean
  readonly transport?: 'udp' | 'tcp'
}

/** What is to be judged. */
export interface Judged {
  readonly zone: Labels
  /** Names whose own and lower names are of zones that nobody has signed. */
  readonly unsigned: readonly Labels[]
  /** Whether it denies names as if they were without data, and refuses those of `*` (RFC 9824). */
  readonly isCompact: boolean
  /** The server's port, and the validator's. */
  readonly server: number
  readonly validator: number
  /** What the validator has logged. */
  readonly log?: () => string
}

const LOOPBACK = '127.0.0.1'
// For the DS of a name of twenty labels Unbound asks two hundred questions, one after another.
const TRIES = 12
/** A bit of the header. */
const CD = 0x10

/** Asks a port of loopback; what was cut is asked again over TCP, and what nobody answers a few times. */
export async function ask(port: number, { qname, qtype }: { qname: string; qtype: string }, how: Asking = {}): Promise<WireReply> {
  const { dnssecOk = false, compactOk = false, unchecked = false, transport = 'udp' } = how
  const flags = unchecked ? CD : 0
  const octets = Buffer.from(requestOctets(`${qname} ${qtype}`, { edns: 1232, dnssecOk, flags, id: randomInt(65_536) }))
  // An OPT record without options ends with its flags and its length.
  if (compactOk) octets[octets.length - 4]! |= 0x40
  for (let tries = 1; ; tries++) {
    const reply = await askOver(transport, port, octets).catch((error: unknown) => {
      if (tries === TRIES) throw new Error(`${qname} ${qtype}: ${(error as Error).message}`, { cause: error })
    })
    if (reply?.isTruncated && transport === 'udp') return ask(port, { qname, qtype }, { ...how, transport: 'tcp' })
    if (reply !== undefined) return reply
  }
}

async function askOver(transport: 'udp' | 'tcp', port: number, octets: Buffer): Promise<WireReply> {
  const client = await openClient(transport, { address: LOOPBACK, port })
  try {
    return readReply(Buffer.from(await client.ask(octets)))
  } finally {
    client.close()
  }
}

/** What is expected of a validator: `free` are questions that it does not judge. */
type Expected = 'secure' | 'insecure' | 'refused' | 'free'

const CNAME = 5
const RRSIG = 46
/** Problems that an alias which the validator has kept explains. */
const DIFFERS = /^(the answer|has the rcode)/
const NO_RECORDS = ['ANY', 'RRSIG', 'TYPE0', 'TYPE128', 'TYPE41']
/** Types that the server has for those alone who want signatures, or that stand above it. */
const OF_DNSSEC = ['DS', 'DNSKEY', 'NSEC', 'NSEC3', 'NSEC3PARAM', 'CDS', 'CDNSKEY']
/** Extended errors of validation (RFC 8914 §4). */
const OF_VALIDATION = /^(1|2|5|6|7|8|9|10|11|12|25|27) ?/
const [NOERROR, SERVFAIL, NXDOMAIN, REFUSED] = [0, 2, 3, 5]

/** What is wrong with what the validator says to a question, or with what the server says to it; undefined where all is right. */
export async function judge(question: Question, judged: Judged): Promise<string | undefined> {
  const { qname, qtype, transport } = question
  const [plain, signed, said] = await Promise.all([
    ask(judged.server, question, { transport }),
    ask(judged.server, question, { transport, dnssecOk: true }),
    ask(judged.validator, question, { transport, dnssecOk: true })
  ])
  const problem = problemOf(question, judged, { plain, signed, said })
  if (problem === undefined || (DIFFERS.test(problem) && (await isAliasToo(question, judged, said)))) return undefined
  const errors = said.errors.length > 0 ? `; the validator: ${said.errors.join(', ')}` : ''
  return `${qname} ${qtype} (${transport}): ${problem}${errors}${reasonIn(question, judged.log?.() ?? '')}`
}

// Unbound logs why it has failed, with `?` for octets that are not printed.
function reasonIn({ labels, qtype }: Question, log: string): string {
  const name = labels.map((label) => `${label.replace(/[^\w*-]/g, '?')}.`).join('')
  const lines = log.split('\n').filter((line) => line.toLowerCase().includes(`<${name} ${qtype} in>`.toLowerCase()))
  return lines.length === 0 ? '' : `; its log: ${lines.at(-1)!.replace(/^.*?: /, '')}`
}

// A service that names a host is an alias to those who want addresses, and has a SRV record as well: a validator that has kept the
// alias goes on from there, or gives up where it leads to itself in the end.
async function isAliasToo(question: Question, { server }: Judged, said: WireReply): Promise<boolean> {
  const aliased = await ask(server, { ...question, qtype: 'A' }, { dnssecOk: true })
  if (said.rcode === SERVFAIL) return aliasesOnly(aliased)
  const isAlias = (record: string): boolean => record.startsWith(`${shown(lower(question.labels))} TYPE${CNAME} `)
  return contentOf(said).some(isAlias) && contentOf(aliased).some(isAlias)
}

interface Replies {
  readonly plain: WireReply
  readonly signed: WireReply
  readonly said: WireReply
}

function problemOf(question: Question, judged: Judged, replies: Replies): string | undefined {
  const expected = expectedOf(question, judged, replies)
  const { plain, signed, said } = replies
  if (plain.isAuthentic || signed.isAuthentic) return 'the server sets AD, though it has validated nothing'
  if (said.errors.some((error) => OF_VALIDATION.test(error)) && expected !== 'refused') return 'is bogus'
  if (expected === 'free') return undefined
  if (expected === 'refused') return refusalProblem(replies)
  if (said.rcode === SERVFAIL || said.rcode === REFUSED) return mayGoRound(replies) ? undefined : `has the rcode ${said.rcode}`
  if (expected === 'secure' && !said.isAuthentic) return 'is not secure'
  if (expected === 'insecure' && said.isAuthentic) return 'is secure, though it leads out of the zone'
  return differenceOf(question, judged, replies) ?? unsignedIn(replies.signed, judged)
}

// Validators do not look at the additional section; whoever asks for SRV uses it all the same.
function unsignedIn(reply: WireReply, { zone, unsigned }: Judged): string | undefined {
  const isOurs = (owner: Labels): boolean => isWithin(owner, zone) && !unsigned.some((apex) => isWithin(owner, apex))
  const signed = new Set(signaturesIn(reply).map(({ owner, covers }) => `${shown(lower(owner))} TYPE${covers}`))
  const sets = reply.records
    .filter(({ owner, type }) => type !== RRSIG && isOurs(owner))
    .map(({ owner, type }) => `${shown(lower(owner))} TYPE${type}`)
  const lacking = sets.find((set) => !signed.has(set))
  return lacking === undefined ? undefined : `${lacking} has no signature`
}

function expectedOf({ labels, qtype }: Question, { zone, unsigned, isCompact }: Judged, { signed, said }: Replies): Expected {
  if (NO_RECORDS.includes(qtype)) return 'free'
  if (!isWithin(labels, zone)) return 'free'
  const cut = unsigned.find((apex) => isWithin(labels, apex))
  if (cut !== undefined) return qtype === 'DS' && labels.length === cut.length ? 'secure' : 'insecure'
  if (labels[0] === '*') return isCompact ? 'refused' : 'secure'
  const met = [...namesOf(signed, qtype), ...namesOf(said, qtype)]
  // An alias of a name that is refused is as good as that.
  if (isCompact && met.some(([first]) => first === '*')) return 'free'
  const isOut = (name: Labels): boolean => !isWithin(name, zone) || unsigned.some((apex) => isWithin(name, apex))
  return met.some(isOut) ? 'insecure' : 'secure'
}

/** The owners of the answer, and the names that its aliases lead to. */
function namesOf({ records }: WireReply, qtype: string): Labels[] {
  const answer = records.filter(({ section }) => section === 'answer')
  return answer.flatMap(({ owner, type, rdata }) => (type === CNAME && qtype !== 'CNAME' ? [owner, nameIn(rdata)] : [owner]))
}

// A name that leads to itself in the end is given up by a validator, with no word of signatures.
function mayGoRound({ plain, signed }: Replies): boolean {
  return contentOf(plain).length === 0 && aliasesOnly(signed)
}

function aliasesOnly(reply: WireReply): boolean {
  const answer = contentOf(reply)
  return answer.length > 0 && answer.every((record) => record.includes(` TYPE${CNAME} `))
}

function refusalProblem({ signed, said }: Replies): string | undefined {
  if (signed.rcode !== REFUSED || signed.errors.length === 0) return `the server has the rcode ${signed.rcode}, not REFUSED with a reason`
  return said.rcode === SERVFAIL || said.rcode === REFUSED ? undefined : `has the rcode ${said.rcode}, though the server refuses`
}

function differenceOf({ labels, qtype }: Question, { zone, unsigned, isCompact }: Judged, replies: Replies): string | undefined {
  const { plain, signed, said } = replies
  if (qtype === 'DS' && labels.length === zone.length) return undefined
  const isCut = unsigned.some((apex) => isWithin(labels, apex))
  const compacted = (rcode: number): number => (isCompact && !isCut && rcode === NXDOMAIN ? NOERROR : rcode)
  if (labels[0] === '*') return difference('the answer', [], contentOf(said))
  const isDenied = contentOf(plain).length === 0 && aliasesOnly(signed)
  // Aliases that lead to nothing: given to those alone who can tell; the validator goes on from there by itself.
  if (isDenied) return startsWith(contentOf(said), contentOf(signed))
  // A validator may answer any type with an alias that it has kept.
  if (OF_DNSSEC.includes(qtype) && aliasesOnly(said)) return undefined
  if (OF_DNSSEC.includes(qtype)) return difference('the answer', contentOf(signed), contentOf(said))
  // No record of such an owner is given to those who want signatures.
  const wanted = contentOf(plain).filter((record) => !record.startsWith('*.'))
  return (
    difference('the signed answer', wanted, contentOf(signed)) ??
    difference('the signed rcode', [`${compacted(plain.rcode)}`], [`${signed.rcode}`]) ??
    difference('the answer', wanted, contentOf(said)) ??
    difference('the rcode', [`${compacted(plain.rcode)}`], [`${compacted(said.rcode)}`])
  )
}

function difference(what: string, wanted: readonly string[], got: readonly string[]): string | undefined {
  return wanted.join() === got.join() ? undefined : `${what} is ${shownList(got)}, not ${shownList(wanted)}`
}

function startsWith(got: readonly string[], wanted: readonly string[]): string | undefined {
  return wanted.every((record) => got.includes(record)) ? undefined : `the answer is ${shownList(got)}, without all of ${shownList(wanted)}`
}

function shownList(records: readonly string[]): string {
  return records.length === 0 ? 'empty' : `[${records.join(', ')}]`
}

/** Judges many questions, so many at once; gives what is wrong. */
export async function judgeAll(questions: readonly Question[], judged: Judged, atOnce = 24): Promise<string[]> {
  const wrong: string[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let question = questions[next++]; question !== undefined; question = questions[next++]) {
      const problem = await judge(question, judged).catch((error: unknown) => String(error))
      if (problem !== undefined) wrong.push(problem)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return wrong
}
