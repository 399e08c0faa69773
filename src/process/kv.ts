/** `skein kv`: reads and changes the embedded store from the command line. */
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { dirname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Directive } from '../corefile/directive.js'
import { controlPath, isLocked } from '../store/lock.js'
import { StoreError } from '../store/store.js'
import { type Flag, readArguments, shownFlags, UsageError } from './arguments.js'
import { readConfiguration } from './configuration.js'
import { isVerb, type KvArguments, kvVerb, type Verb } from './kv-verbs.js'

const FLAGS: readonly Flag[] = [
  { spellings: ['store'], value: 'DIR', about: 'the folder of the store (the one that the Corefile names, else ./data)' },
  { spellings: ['conf'], value: 'FILE', about: 'the Corefile that names it (./Corefile)' },
  { spellings: ['ttl'], value: 'SECONDS', about: 'put: the key vanishes after so many seconds' },
  { spellings: ['raw'], about: 'get: the octets alone, without a line end behind them' },
  { spellings: ['r', 'recursive'], about: 'del, ls: everything below the key as well' },
  { spellings: ['help', 'h'], about: 'print this text' }
]

/** The help of the command. */
export const KV_HELP = `skein kv: read and change the embedded service store

Usage:
  skein kv get KEY              print the value of a key
  skein kv put KEY VALUE        set a key; VALUE - reads it from standard input
  skein kv del KEY              delete a key
  skein kv ls [KEY]             list what is directly below a key
  skein kv export [KEY]         print what is below a key as lines of JSON
  skein kv import [FILE]        read such lines, from standard input without FILE; none where one is wrong

Flags:
${shownFlags(FLAGS)}

A running server is asked through the control socket in the store's folder; the store of a stopped one is opened.

  skein kv put /skydns/local/skydns/east/web '{"host":"192.0.2.1","port":80}'
`

/** Runs the command. Throws UsageError, StoreError, ConfigError. */
export async function kv(argv: readonly string[]): Promise<void> {
  const { flags, words } = readArguments(argv, FLAGS)
  const [verb, ...rest] = words
  if (flags.has('help') || verb === undefined || verb === 'help') return void process.stdout.write(KV_HELP)
  if (!isVerb(verb)) throw new UsageError(`unknown command kv ${verb}, expected get, put, del, ls, import or export`)
  const asked = verbArguments(verb, rest, flags)
  const input = await inputOf(verb, rest)
  const folder = resolve(flags.get('store') ?? storeOfCorefile(flags.get('conf')))
  if (existsSync(folder) && (await isLocked(folder))) return askServer(folder, verb, asked, input)
  if (!existsSync(folder) && verb !== 'put' && verb !== 'import')
    throw new StoreError(`there is no store in ${folder}: name its folder with -store`)
  // What a running server is asked for needs no database here.
  const { EmbeddedStore } = await import('../store/embedded.js')
  const store = await EmbeddedStore.open(folder)
  try {
    for await (const chunk of kvVerb(store, verb, asked, input)) await print(chunk)
  } finally {
    await store.close()
  }
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
  if (verb !== 'put' || !/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError(
      verb === 'put' ? `-ttl: expected whole seconds from 1 on, not ${JSON.stringify(text)}` : '-ttl: expected with put alone'
    )
  return Number(text)
}

/** The folder that the Corefile's first embedded store is in. */
function storeOfCorefile(conf: string | undefined): string {
  const { blocks, file } = readConfiguration(conf)
  const isStore = ({ name }: Directive): boolean => name === 'store'
  for (const { directives } of blocks) {
    const store = directives.find(({ name, options }) => name === 'etcd' && options.some(isStore))?.options.find(isStore)
    const root = directives.find(({ name }) => name === 'root')?.args[0] ?? ''
    if (store !== undefined) return resolve(dirname(file), root, store.args[0] ?? 'data')
  }
  return 'data'
}

function askServer(folder: string, verb: Verb, asked: KvArguments, input: AsyncIterable<Buffer>): Promise<void> {
  return new Promise((done, failed) => {
    const path = `/kv/${verb}?arguments=${encodeURIComponent(JSON.stringify(asked))}`
    let answered = false
    const request = httpRequest({ socketPath: controlPath(folder), method: 'POST', path }, (response) => {
      answered = true
      const receive = async (): Promise<void> => {
        if (response.statusCode !== 200) throw new StoreError(await textOf(response))
        for await (const chunk of response) await print(chunk as Buffer)
      }
      receive().then(done, failed)
    })
    request.on('error', (error) => failed(new StoreError(`the server of ${folder} does not answer: ${error.message}`)))
    // A server that refuses early stops reading: what it says counts then.
    pipeline(input, request).catch((error: Error) => answered || failed(error))
  })
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

async function textOf(stream: AsyncIterable<Buffer | string>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Buffer))
  return Buffer.concat(chunks).toString('utf8')
}

/** Waits until it is written: what a pipe has not taken is lost when the process ends. */
function print(chunk: string | Buffer): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(chunk, () => resolve())
  })
}
