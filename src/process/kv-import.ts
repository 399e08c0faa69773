/** What `skein kv import` reads: our own lines of JSON as they come, or a dump of etcd, known by what it begins with. */
import { StoreError } from '../store/store.js'
import { UsageError } from './arguments.js'
import { readDump, versionOfDump } from './etcd-dump.js'

/** What is sent to a store, and what is to be told when it has it. */
export interface ImportInput {
  /** The lines. */
  readonly input: AsyncIterable<Buffer>
  /** A sentence each. */
  readonly notes: readonly string[]
}

/** More is not looked at to see what it is. */
const HEAD_OCTETS = 4096
const BOM = '\xef\xbb\xbf'
const FIRST_FIELD = /^(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*"([^"]*)"/
const BEFORE_IT = /^(?:\xef(?:\xbb\xbf?)?)?[ \t\r\n]*(?:\{[ \t\r\n]*(?:"[^"]*)?)?$/
/** What etcdctl prints without `-w json`. */
const PLAIN_KEY = /^\s*\//
const UTF_16 = /^(?:\xff\xfe|\xfe\xff)/

/** Recognises it. A dump is read whole before anything is sent; throws StoreError where something is wrong with it. */
export async function importInput(stream: AsyncIterable<Buffer>, ttl: number | undefined, now = Date.now()): Promise<ImportInput> {
  const chunks = stream[Symbol.asyncIterator]()
  try {
    return await recognised(chunks, ttl, now)
  } catch (error) {
    // Whoever writes into a pipe learns that nobody reads any more.
    await chunks.return?.()
    throw error
  }
}

async function recognised(chunks: AsyncIterator<Buffer>, ttl: number | undefined, now: number): Promise<ImportInput> {
  const head = await readHead(chunks)
  const text = head.toString('latin1')
  if (UTF_16.test(text)) throw new StoreError('expected UTF-8, not UTF-16; nothing was imported')
  const all = behind(text.startsWith(BOM) ? head.subarray(BOM.length) : head, chunks)
  const version = versionOfDump(firstField(text) ?? '')
  if (version === undefined) {
    if (PLAIN_KEY.test(text))
      throw new StoreError('it begins with a key and no JSON: have etcdctl print the dump with -w json; nothing was imported')
    if (ttl !== undefined) throw ttlProblem()
    return { input: all, notes: [] }
  }
  const { lines, notes, hasV3 } = await readDump(all, { ttl, now })
  if (ttl !== undefined && !hasV3) throw ttlProblem()
  return { input: each(lines), notes }
}

function ttlProblem(): UsageError {
  return new UsageError('-ttl: expected with a dump of v3 alone: all else says how long its keys live')
}

/** The first octets: as many as are needed to see what it is. */
async function readHead(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  let head = Buffer.alloc(0)
  while (head.length < HEAD_OCTETS && firstField(head.toString('latin1')) === undefined) {
    const { done, value } = await chunks.next()
    if (done === true) break
    head = Buffer.concat([head, value])
  }
  return head
}

/** The name of the first field of an object, '' where there is none; undefined where so few octets do not tell. */
function firstField(head: string): string | undefined {
  return FIRST_FIELD.exec(head)?.[1] ?? (BEFORE_IT.test(head) ? undefined : '')
}

async function* behind(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

async function* each(lines: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* lines
}
