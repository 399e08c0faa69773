/**
 * What signed answers cost without a socket, beside what `node:crypto` takes for the signatures, and beside the same answers unsigned: in
 * processor time of all threads, in short rounds by turns, since only ratios hold on a busy machine. Prints a line of JSON for each
 * algorithm and kind of question: `node dist/bench/signing.js`
 */
import { generateKeyPairSync, randomBytes, type SignKeyObjectInput, sign } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Algorithm, algorithmOf } from '../src/dnssec/algorithms.js'
import { makeKeyFile } from '../src/dnssec/key-folder.js'
import { temporaryFolder } from '../test/processes.js'
import { type BenchChain, BenchSlot, Requests, startChain } from './chain.js'
import { readCorefile } from './corefiles.js'
import { fillStore } from './fill-store.js'
import { absentQuestions, serviceQuestions, ZONE } from './services.js'
import { alternated, median } from './statistics.js'

/** What a kind of question costs. */
export interface Signing {
  readonly case: 'signing'
  /** Its number and mnemonic. */
  readonly algorithm: string
  readonly what: string
  /** How many are made for a question. */
  readonly signatures: number
  /** Microseconds: of a signature by `node:crypto` alone, where one is made; of a question with DO, and of one without. Middles of all rounds. */
  readonly raw?: number
  readonly signed: number
  readonly unsigned: number
  /** Middles of the ratios of each round: signed to raw, and what signing adds to raw, both for a signature that is made; signed to unsigned. */
  readonly toRaw?: number
  readonly addedToRaw?: number
  readonly toUnsigned: number
  /**
   * Signed to what a raw signature and the unsigned answer take by turns, which push each other out of the processor's caches: what no
   * server gets below. Not where signatures are made in the thread pool.
   */
  readonly toBoth?: number
}

const NUMBERS = [8, 10, 13, 14, 15]
const ROUNDS = 31
/** Of processor time, as rounds of wall time do little where others have the processors. */
const ROUND_US = 30_000
const WARM_US = 1_500_000
const IN_FLIGHT = 8
const BETWEEN_LOOKS = 16
/** Far more than signatures are kept for, so that no answer finds its own; but SOA and what else all of a kind have in common is kept. */
const SERVICES = 10_000
const CACHED_NAMES = 4
/** Octets that are signed of an A of the store: RRSIG up to the signature, owner, fixed fields and address. */
const SIGNED_OCTETS = 75
const MISSES = 'coredns_dnssec_cache_misses_total'

/** Does something again and again, for so many microseconds of processor time; gives how often. */
type Work = (micros: number) => number | Promise<number>

/** Microseconds of processor time so far. */
function used(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Does one after the other. */
function oneByOne(once: () => void): Work {
  return (micros) => {
    let count = 0
    for (const end = used() + micros; used() < end; count += BETWEEN_LOOKS) for (let i = 0; i < BETWEEN_LOOKS; i++) once()
    return count
  }
}

/** Begins one as soon as another is done, each lane one at a time; a lane calls back late. */
function inFlight(lanes: readonly ((done: () => void) => void)[]): Work {
  return (micros) =>
    new Promise((resolve) => {
      const end = used() + micros
      let [count, busy] = [0, lanes.length]
      for (const lane of lanes) {
        const again = (): void => {
          count++
          if (used() < end) lane(again)
          else if (--busy === 0) resolve(count)
        }
        lane(again)
      }
    })
}

/** What `node:crypto` alone does, the way that the algorithm is signed with. */
function rawWork(algorithm: Algorithm): Work {
  if (!algorithm.isPooled) return oneByOne(rawOnce(algorithm))
  const [input, octets] = [rawInput(algorithm), randomBytes(SIGNED_OCTETS)]
  const lane = (done: () => void): void => sign(algorithm.digest, octets, input, done)
  return inFlight(Array.from({ length: IN_FLIGHT }, () => lane))
}

function rawOnce(algorithm: Algorithm): () => void {
  const [input, octets] = [rawInput(algorithm), randomBytes(SIGNED_OCTETS)]
  return () => {
    sign(algorithm.digest, octets, input)
  }
}

function rawInput({ kind }: Algorithm): SignKeyObjectInput {
  return { key: privateKey(kind), dsaEncoding: 'ieee-p1363' }
}

function privateKey(kind: Algorithm['kind']) {
  if (kind === 'RSA') return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  if (kind.kty === 'EC') return generateKeyPairSync('ec', { namedCurve: kind.crv }).privateKey
  return generateKeyPairSync('ed25519').privateKey
}

/** Asks a chain whose answers come before it returns. */
function askedWork({ receive }: BenchChain, requests: Requests): Work {
  const slot = new BenchSlot()
  return oneByOne(() => {
    requests.putNext(slot)
    slot.sent = 0
    receive(slot)
    if (slot.sent === 0) throw new Error('no reply has come at once')
  })
}

/** A signature, and an unsigned answer, one after the other. */
function bothWork(algorithm: Algorithm, { receive }: BenchChain, requests: Requests): Work {
  const once = rawOnce(algorithm)
  const slot = new BenchSlot()
  return oneByOne(() => {
    once()
    requests.putNext(slot)
    receive(slot)
  })
}

/** Asks one whose answers come later. */
function askedLater({ receive }: BenchChain, requests: Requests): Work {
  const lanes = Array.from({ length: IN_FLIGHT }, () => {
    const slot = new BenchSlot()
    return (done: () => void): void => {
      slot.answered = done
      requests.putNext(slot)
      receive(slot)
    }
  })
  return inFlight(lanes)
}

/** Asks so many questions at once, and waits for all answers. */
function answered({ receive }: BenchChain, requests: Requests, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    for (let i = 0; i < count; i++) {
      const slot = new BenchSlot()
      slot.answered = () => {
        if (--left === 0) resolve()
      }
      requests.putNext(slot)
      receive(slot)
    }
  })
}

/** Microseconds of processor time for each. */
async function cost(work: Work): Promise<number> {
  const before = used()
  const count = await work(ROUND_US)
  return (used() - before) / count
}

/** Each work's costs, a round for each by turns. */
async function costsOf(works: readonly Work[]): Promise<number[][]> {
  const costs: number[][] = works.map(() => [])
  const indexes = works.map((_, index) => index)
  // Once for the compiler, and what is remembered.
  for (const work of works) await work(WARM_US)
  for (let round = 0; round < ROUNDS; round++) for (const index of alternated(indexes, round)) costs[index]!.push(await cost(works[index]!))
  return costs
}

function ratio(ones: readonly number[], others: readonly number[]): number {
  return median(ones.map((one, round) => one / others[round]!))
}

interface Kind {
  readonly what: string
  readonly denial: 'nsec' | 'nsec3'
  readonly questions: readonly string[]
}

const kinds: readonly Kind[] = [
  { what: 'A from the store', denial: 'nsec', questions: serviceQuestions(SERVICES, SERVICES) },
  { what: 'a name that does not exist, nsec', denial: 'nsec', questions: absentQuestions(SERVICES, SERVICES) },
  { what: 'a name that does not exist, nsec3', denial: 'nsec3', questions: absentQuestions(SERVICES, SERVICES) }
]

async function measureUncached(number: number, folder: string, { what, denial, questions }: Kind): Promise<Signing> {
  const algorithm = algorithmOf(number)
  const chain = await startChain(readCorefile('Corefile.signing').replace('@DENIAL@', denial), folder)
  try {
    let asked = 0
    const signing = (algorithm.isPooled ? askedLater : askedWork)(chain, new Requests(questions, { dnssecOk: true }))
    const counting = async (micros: number): Promise<number> => {
      const count = await signing(micros)
      asked += count
      return count
    }
    const unsignedRequests = new Requests(questions)
    const works = [rawWork(algorithm), counting, askedWork(chain, unsignedRequests)]
    if (!algorithm.isPooled) works.push(bothWork(algorithm, chain, unsignedRequests))
    const [raw, signed, unsigned, both] = (await costsOf(works)) as Costs
    const signatures = chain.counted(MISSES) / asked
    if (signatures < 0.99) throw new Error(`${what}: ${signatures} signatures a question: they are kept`)
    const added = signed.map((each, round) => each - unsigned[round]!)
    return {
      case: 'signing',
      algorithm: `${number} ${algorithm.name}`,
      what,
      signatures,
      raw: median(raw),
      signed: median(signed),
      unsigned: median(unsigned),
      toRaw: ratio(signed, raw) / signatures,
      addedToRaw: ratio(added, raw) / signatures,
      toUnsigned: ratio(signed, unsigned),
      ...(both !== undefined && { toBoth: ratio(signed, both) })
    }
  } finally {
    await chain.stop()
  }
}

type Costs = [raw: number[], signed: number[], unsigned: number[], both: number[] | undefined]

/** Answers that the cache has with their signatures: of the algorithm only the length counts. */
async function measureCached(number: number, folder: string): Promise<Signing> {
  const chain = await startChain(readCorefile(undefined), folder)
  try {
    const questions = serviceQuestions(SERVICES, CACHED_NAMES)
    const both = [{ dnssecOk: true }, {}].map((options) => new Requests(questions, options))
    for (const requests of both) await answered(chain, requests, questions.length)
    const before = chain.counted(MISSES)
    const [signed, unsigned] = (await costsOf(both.map((requests) => askedWork(chain, requests)))) as [number[], number[]]
    if (before === 0 || chain.counted(MISSES) > before) throw new Error('answers from the cache: they are not signed once')
    return {
      case: 'signing',
      algorithm: `${number} ${algorithmOf(number).name}`,
      what: `A from the cache, ${CACHED_NAMES} names`,
      signatures: 0,
      signed: median(signed),
      unsigned: median(unsigned),
      toUnsigned: ratio(signed, unsigned)
    }
  } finally {
    await chain.stop()
  }
}

/** `numbers`: of the algorithms; all where there are none. */
async function main(numbers: readonly number[]): Promise<void> {
  const temporary = temporaryFolder()
  const print = (result: Signing): void => console.log(JSON.stringify(result))
  const folderOf = async (number: number): Promise<string> => {
    const folder = join(temporary.path, `${number}`)
    await fillStore(join(folder, 'data'), SERVICES)
    await makeKeyFile(join(folder, 'keys'), `${ZONE}.`, number)
    return folder
  }
  const chosen = numbers.length > 0 ? numbers : NUMBERS
  const folders = new Map<number, string>()
  for (const number of chosen) folders.set(number, await folderOf(number))
  for (const kind of kinds) for (const [number, folder] of folders) print(await measureUncached(number, folder, kind))
  for (const [number, folder] of folders) print(await measureCached(number, folder))
  temporary.remove()
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await main(process.argv.slice(2).map(Number))
