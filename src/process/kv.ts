/** `skein kv`: reads and changes the service store, or the etcd that feeds it, from the command line. */
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { prepareFolder } from '../store/folder.js'
import { type FolderLock, isLocked, lockFolder } from '../store/lock.js'
import type { LockedStore } from '../store/locked.js'
import { StoreError } from '../store/store.js'
import { type Flag, readArguments, shownFlags, UsageError } from './arguments.js'
import { askStore } from './kv-client.js'
import { folderMeant, judgeOf, type Meant, sourceMeant } from './kv-corefile.js'
import type { ImportInput } from './kv-import.js'
import { isVerb, type KvArguments, kvVerb, type Verb } from './kv-verbs.js'

const FLAGS: readonly Flag[] = [
  { spellings: ['store'], value: 'DIR', about: 'the folder of the store (the one that the Corefile has, else ./data)' },
  { spellings: ['conf'], value: 'FILE', about: 'the Corefile that has it (./Corefile); skydns for that of a running `skein skydns`' },
  { spellings: ['ttl'], value: 'SECONDS', about: 'put: the key vanishes after so many seconds; import of v3: so do keys with a lease' },
  { spellings: ['to'], value: 'etcd', about: 'put, del: the etcd cluster that feeds the store, which is read-only itself' },
  { spellings: ['raw'], about: 'get: the octets alone, without a line end behind them' },
  { spellings: ['r', 'recursive'], about: 'del, ls: everything below the key as well' },
  { spellings: ['help', 'h'], about: 'print this text' }
]

/** The help of the command. */
export const KV_HELP = `skein kv: read and change the service store

Usage:
  skein kv get KEY              print the value of a key
  skein kv put KEY VALUE        set a key; VALUE - reads it from standard input
  skein kv del KEY              delete a key
  skein kv ls [KEY]             list what is directly below a key
  skein kv bad [KEY]            list keys that are no services, each with what is wrong with it
  skein kv export [KEY]         print what is below a key as lines of JSON
  skein kv import [FILE]        read such lines, or a dump of etcd, from standard input without FILE; all or none

Flags:
${shownFlags(FLAGS)}

A running server is asked through the control socket in the store's folder; the store of a stopped one is opened. A replica of etcd
can only be read: with \`-to etcd\`, put and del write to the cluster that the Corefile's \`etcd\` has, server running or not.

A dump of etcd is what v3 prints by \`etcdctl get --prefix KEY -w json\`, and v2 by \`curl http://HOST:2379/v2/keys/PATH?recursive=true\`.

  skein kv put /skydns/local/skydns/east/web '{"host":"192.0.2.1","port":80}'
`

/** Runs the command. Throws UsageError, StoreError, ConfigError. */
export async function kv(argv: readonly string[]): Promise<void> {
  const { flags, words } = readArguments(argv, FLAGS)
  const [verb, ...rest] = words
  if (flags.has('help') || verb === undefined || verb === 'help') return void process.stdout.write(KV_HELP)
  if (!isVerb(verb)) throw new UsageError(`unknown command kv ${verb}, expected get, put, del, ls, bad, import or export`)
  const asked = verbArguments(verb, rest, flags)
  const meant = { store: flags.get('store'), conf: flags.get('conf') }
  if (flags.has('to')) return writeTo(flags.get('to')!, verb, meant, asked, rest)
  const folder = await folderMeant(meant)
  const { input, notes } = await sentOf(verb, rest, asked)
  // Who has forgotten -store would look for the keys where they are not.
  const isUnnamed = verb === 'import' && meant.store === undefined && !existsSync(meant.conf ?? 'Corefile') && !existsSync(folder)
  if (existsSync(folder) && (await isLocked(folder))) await askStore(folder, { verb, asked, input }, printAll)
  else {
    if (!existsSync(folder) && verb !== 'put' && verb !== 'import')
      throw new StoreError(`there is no store in ${folder}: name its folder with -store`)
    const judge = verb === 'bad' ? await judgeOf(folder, meant.conf) : undefined
    await useStopped(folder, (store) => kvVerb(store, verb, { ...asked, judge }, input))
  }
  if (isUnnamed) process.stderr.write(`skein: the store is new, in ${folder}: another is named with -store\n`)
  for (const note of notes) process.stderr.write(`skein: ${note}\n`)
}

/** What a verb reads, as a store takes it. */
async function sentOf(verb: Verb, words: readonly string[], { ttl }: KvArguments): Promise<ImportInput> {
  const input = await inputOf(verb, words)
  if (verb !== 'import') return { input, notes: [] }
  const { importInput } = await import('./kv-import.js')
  return importInput(input, ttl)
}

async function writeTo(to: string, verb: Verb, meant: Meant, asked: KvArguments, words: readonly string[]): Promise<void> {
  if (to !== 'etcd') throw new UsageError(`-to: expected etcd, not ${JSON.stringify(to)}`)
  if (verb !== 'put' && verb !== 'del') throw new UsageError('-to: expected with put or del alone')
  const { writeToEtcd } = await import('./kv-etcd.js')
  await writeToEtcd(await sourceMeant(meant), verb, asked, await inputOf(verb, words))
}

/** Prints what comes of the store of a folder that no server has. What a running server is asked for needs no database here. */
async function useStopped(folder: string, use: (store: LockedStore) => AsyncIterable<string | Buffer>): Promise<void> {
  prepareFolder(folder)
  const lock = await lockFolder(folder)
  try {
    const store = await openLocked(folder, lock)
    try {
      await printAll(use(store))
    } finally {
      await store.close()
    }
  } finally {
    await lock.release()
  }
}

/** Opens a folder's store, whoever wrote it. */
async function openLocked(folder: string, lock: FolderLock): Promise<LockedStore> {
  const { kindOfStore } = await import('../store/tables.js')
  if ((await kindOfStore(folder)) === 'replica') {
    const { ReplicaView } = await import('../store/etcd/replica-view.js')
    return ReplicaView.openLocked(folder, lock, () => {})
  }
  const { EmbeddedStore } = await import('../store/embedded.js')
  return EmbeddedStore.open(folder, { lock })
}

function verbArguments(verb: Verb, words: readonly string[], flags: ReadonlyMap<string, string>): KvArguments {
  const [key, value] = words
  const most = verb === 'put' ? 2 : 1
  if (words.length > most)
    throw new UsageError(
      `kv ${verb}: expected ${verb === 'put' ? 'a key and a value' : verb === 'import' ? 'one file' : 'one key'}, not ${JSON.stringify(words[most])} too`
    )
  if (key === undefined && ['get', 'put', 'del'].includes(verb))
    throw new UsageError(`kv ${verb}: expected a key such as /skydns/local/skydns/web`)
  if (verb === 'put' && value === undefined) throw new UsageError('kv put: expected a value after the key')
  if (verb !== 'import' && key !== undefined && !key.startsWith('/'))
    throw new UsageError(`kv ${verb}: expected a key that begins with /, not ${JSON.stringify(key)}`)
  return {
    ...(key !== undefined && verb !== 'import' && { key }),
    ...(flags.has('ttl') && { ttl: readTtl(flags.get('ttl')!, verb) }),
    ...(flags.has('r') && { recursive: true }),
    ...(flags.has('raw') && { raw: true })
  }
}

function readTtl(text: string, verb: Verb): number {
  if (verb !== 'put' && verb !== 'import') throw new UsageError('-ttl: expected with put or import alone')
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`-ttl: expected whole seconds from 1 on, not ${JSON.stringify(text)}`)
  return Number(text)
}

/** What a verb reads: the value of `put`, the lines of `import`. */
async function inputOf(verb: Verb, [first, second]: readonly string[]): Promise<AsyncIterable<Buffer>> {
  if (verb === 'put' && second !== '-') return Readable.from([Buffer.from(second ?? '')])
  if (verb === 'put') return process.stdin
  if (verb !== 'import') return Readable.from([])
  if (first === undefined || first === '-') return process.stdin
  try {
    const file = await open(first)
    if (!(await file.stat()).isDirectory()) return file.createReadStream()
    await file.close()
    throw new StoreError(`cannot read ${first}: it is a folder`)
  } catch (error) {
    if (error instanceof StoreError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new StoreError(`cannot read ${first}: ${code === 'ENOENT' ? 'there is no such file' : message}`, { cause: error })
  }
}

async function printAll(chunks: AsyncIterable<string | Buffer>): Promise<void> {
  for await (const chunk of chunks) await print(chunk)
}

/** Waits until it is written: what a pipe has not taken is lost when the process ends. */
function print(chunk: string | Buffer): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(chunk, () => resolve())
  })
}
