import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { checkFile, STORE_FILE } from './folder.js'
import { StoreError } from './store.js'

/** A table with octets for keys and for values. */
export type Table = Database<Buffer, Buffer>

/** The tables of an open store. */
export interface Tables {
  readonly root: RootDatabase<Buffer, Buffer>
  /** Entries by {@link spelledOctets}: see `record.ts`. */
  readonly entries: Table
  /** Marks of directories by the same keys: the keys API's, and invisible to look-ups. */
  readonly dirs: Table
  /** What vanishes when: time, kind, key. */
  readonly expiries: Table
  /** How much stands directly below a folded key: see `below.ts`. */
  readonly below: Table
  readonly meta: Table
}

/** Who writes a store: this machine's users, or an etcd cluster. */
export type StoreKind = 'embedded' | 'replica'

/** The tables of an open store, as its mark says. */
export interface OpenTables extends Tables {
  readonly kind: StoreKind
  /** Whether they lack what {@link writeMark} says is there. */
  readonly isOld: boolean
}

const FORMAT = 2
/** The format that lacks the table `below`. */
const FORMAT_WITHOUT_BELOW = 1
const MARK = Buffer.from('format')
const MARK_TEXTS: readonly (readonly [StoreKind, string])[] = [
  ['embedded', 'Skein store '],
  ['replica', 'Skein replica ']
]
const REVISION = Buffer.from('revision')
/** Reads that may be under way at once: one of each worker thread, of which there are 1024 at most, and of what exports. */
const READERS = 1200
const NEW_FILE = `${STORE_FILE}.new`

const newFiles = [NEW_FILE, `${NEW_FILE}-lock`]

/** Makes an empty store: under another name first, so that a file of the right name always has its mark. */
export async function makeStore(folder: string): Promise<void> {
  try {
    for (const name of newFiles) rmSync(join(folder, name), { force: true })
    const root = openRoot(join(folder, NEW_FILE))
    for (const name of ['entries', 'dirs', 'expiries', 'below']) root.openDB({ ...binary, name })
    const meta = root.openDB<Buffer, Buffer>({ ...binary, name: 'meta' })
    await meta.batch(() => {
      unawaited(meta.put(MARK, markOctets('embedded')))
      unawaited(meta.put(REVISION, revisionOctets(0)))
    })
    await root.close()
    renameSync(join(folder, NEW_FILE), join(folder, STORE_FILE))
    rmSync(join(folder, `${NEW_FILE}-lock`), { force: true })
  } catch (error) {
    throw new StoreError(`no store can be made in ${folder} (${(error as Error).message}): see to its disk, or name another folder`, {
      cause: error
    })
  }
}

/** Opens the tables, where the file bears the mark of a format that is known here. */
export async function openTables(folder: string): Promise<OpenTables> {
  const path = join(folder, STORE_FILE)
  let root: RootDatabase<Buffer, Buffer>
  try {
    root = openRoot(path)
  } catch (error) {
    throw new StoreError(`${path} cannot be opened (${(error as Error).message}): put back a copy, or move it away`, { cause: error })
  }
  const table = (name: string): Table | undefined => root.openDB<Buffer, Buffer>({ ...binary, name, create: false } as { name: string })
  const [meta, entries, dirs, expiries] = [table('meta'), table('entries'), table('dirs'), table('expiries')]
  const { kind, format } = readMark(meta?.get(MARK))
  const fault = faultOfFormat(format)
  if (fault === undefined && kind && meta && entries && dirs && expiries) {
    const isOld = format === FORMAT_WITHOUT_BELOW
    const below = isOld ? openTable({ root }, 'below') : table('below')
    if (below) return { root, entries, dirs, expiries, below, meta, kind, isOld }
  }
  await root.close()
  throw new StoreError(`${path} ${fault ?? 'lacks a table of a Skein store'}: name another store folder, or move that file away`)
}

/** Who writes the store of a folder; undefined where there is none yet. Throws StoreError. */
export async function kindOfStore(folder: string): Promise<StoreKind | undefined> {
  checkFile(folder)
  if (!existsSync(join(folder, STORE_FILE))) return undefined
  const { root, kind } = await openTables(folder)
  await root.close()
  return kind
}

/** Says who writes the tables, and that they have all that this format has. */
export async function writeMark({ meta }: Tables, kind: StoreKind): Promise<void> {
  await meta.put(MARK, markOctets(kind))
}

/** The revision that is on disk. */
export function readRevision(tables: Tables): number {
  return Number(tables.meta.get(REVISION)?.readBigUInt64BE() ?? 0n)
}

/** Puts the revision among the writes of a batch. */
export function writeRevision(tables: Tables, revision: number): void {
  unawaited(tables.meta.put(REVISION, revisionOctets(revision)))
}

/** Opens a table beside those that every store has, or makes it. */
export function openTable({ root }: Pick<Tables, 'root'>, name: string): Table {
  return root.openDB({ ...binary, name })
}

/** Puts a row among the writes of a batch, or removes it where there is no value; gives by how much there are more. */
export function putRow(table: Table, key: Buffer, value: Buffer | undefined): 1 | 0 | -1 {
  const isThere = table.get(key) !== undefined
  if (value !== undefined) unawaited(table.put(key, value))
  else if (isThere) unawaited(table.remove(key))
  return isThere === (value !== undefined) ? 0 : isThere ? -1 : 1
}

/** For a write inside a batch: the batch's own promise tells of its failure, and this one would end the process. */
export function unawaited(write: Promise<boolean>): void {
  write.catch(() => undefined)
}

const binary = { encoding: 'binary', keyEncoding: 'binary' } as const

function openRoot(path: string): RootDatabase<Buffer, Buffer> {
  // Without overlappingSync a batch's promise resolves when the disk has it; with it, a moment sooner.
  // eventTurnBatching would begin a batch of its own at each write, and leave its rejected promise to end the process.
  // noSubdir says that the path is a file: else a dot in the folder's name would decide.
  return open<Buffer, Buffer>({
    path,
    noSubdir: true,
    overlappingSync: false,
    eventTurnBatching: false,
    maxDbs: 8,
    maxReaders: READERS,
    ...binary
  })
}

function markOctets(kind: StoreKind): Buffer {
  return Buffer.from(`${MARK_TEXTS.find(([each]) => each === kind)![1]}${FORMAT}`)
}

function readMark(mark: Buffer | undefined): { kind?: StoreKind; format?: number } {
  const text = mark?.toString('latin1') ?? ''
  for (const [kind, words] of MARK_TEXTS) if (text.startsWith(words)) return { kind, format: Number(text.slice(words.length)) }
  return {}
}

function faultOfFormat(format: number | undefined): string | undefined {
  if (format === undefined) return 'is an LMDB database, but no Skein store'
  return format === FORMAT || format === FORMAT_WITHOUT_BELOW
    ? undefined
    : `has format ${format} of a newer Skein; this one reads format ${FORMAT}`
}

function revisionOctets(revision: number): Buffer {
  const octets = Buffer.alloc(8)
  octets.writeBigUInt64BE(BigInt(revision))
  return octets
}
