import { spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EmbeddedStore } from './embedded.js'
import { checkFile } from './folder.js'
import { faultOfFile } from './store-file.js'

let top: string
let good: string
const STORE = new URL('./embedded.js', import.meta.url).href
const ENTRIES = 1500

/** Runs a module in a process of its own: a bad map ends it, and not the test. */
function run(script: string, ...args: string[]): Promise<{ code: number | null; signal: string | null; out: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', `import { EmbeddedStore } from '${STORE}'\n${script}`, ...args])
    let out = ''
    child.stdout.on('data', (text) => (out += text))
    child.stderr.on('data', (text) => (out += text))
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve({ code, signal, out }))
  })
}

const folder = (name: string): string => {
  const path = join(top, name)
  mkdirSync(path)
  return path
}

const inFolder = (make: (path: string) => unknown) => (path: string) => {
  mkdirSync(path)
  return make(path)
}

const lmdbFile = async (path: string, write: (root: ReturnType<typeof open>) => Promise<unknown>): Promise<void> => {
  const root = open({ path, noSubdir: true, overlappingSync: false, maxDbs: 8 })
  await write(root)
  await root.close()
}

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'skein-opening-'))
  good = folder('good')
  const store = await EmbeddedStore.open(good)
  await store.apply(
    Array.from(
      { length: ENTRIES },
      (_, n) =>
        ({
          op: 'put',
          key: ['skydns', `k${n}`],
          value: Buffer.alloc(n % 50 === 0 ? 9000 : 60, n),
          expires: n % 7 ? undefined : Date.now() + 1e9
        }) as const
    )
  )
  for (let n = 0; n < 30; n++)
    await store.apply([
      { op: 'delete', key: ['skydns', `k${n * 40}`] },
      { op: 'put', key: ['again', `${n}`], value: Buffer.alloc(200) }
    ])
  await store.close()
})

afterAll(() => rmSync(top, { recursive: true, force: true }))

describe('opening a store', () => {
  test.each<[string, (path: string) => unknown, RegExp]>([
    ['a file', (path) => writeFileSync(path, 'x'), /is not a folder: move that file away/],
    [
      'a folder of other files',
      inFolder((path) => writeFileSync(join(path, 'notes.txt'), 'x')),
      /holds other files \(notes\.txt\) and no Skein store/
    ],
    ['a folder below a file', (path) => writeFileSync(join(path, '..'), 'x'), /cannot be reached \(ENOTDIR\)/],
    ['an empty file', inFolder((path) => writeFileSync(join(path, 'data.mdb'), '')), /is no whole Skein store \(it is cut short\)/],
    [
      'garbage',
      inFolder((path) => writeFileSync(join(path, 'data.mdb'), Buffer.alloc(50_000, 'garbage '))),
      /is no whole Skein store \(it is no LMDB file\)/
    ],
    [
      'zeros',
      inFolder((path) => writeFileSync(join(path, 'data.mdb'), Buffer.alloc(50_000))),
      /is no whole Skein store \(it is no LMDB file\)/
    ],
    ['a folder in its place', (path) => mkdirSync(join(path, 'data.mdb'), { recursive: true }), /data\.mdb is not a file/],
    [
      "somebody's LMDB",
      inFolder((path) => lmdbFile(join(path, 'data.mdb'), (root) => root.put('a', 'b'))),
      /is an LMDB database, but no Skein store/
    ],
    [
      "somebody's LMDB with a table of our name",
      inFolder((path) => lmdbFile(join(path, 'data.mdb'), (root) => root.openDB({ name: 'meta' }).put('a', 'b'))),
      /is an LMDB database, but no Skein store/
    ],
    [
      'a newer format',
      inFolder((path) =>
        lmdbFile(join(path, 'data.mdb'), (root) =>
          root
            .openDB<Buffer, Buffer>({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' })
            .put(Buffer.from('format'), Buffer.from('Skein store 3'))
        )
      ),
      /has format 3 of a newer Skein; this one reads format 2/
    ]
  ])('refuses %s, in one line that says what to do', async (name, make, message) => {
    const path = name === 'a folder below a file' ? join(top, 'f', 'deep') : join(top, `bad ${name}`)
    await make(path)
    const error = await EmbeddedStore.open(path).then(
      () => undefined,
      (fault: Error) => fault
    )
    expect(error).toMatchObject({ name: 'StoreError', code: 'SKEIN_STORE' })
    expect(error?.message).toMatch(message)
    expect(error?.message).toContain(name === 'a folder below a file' ? path : `bad ${name}`)
    expect(error?.message).not.toContain('\n')
    // What is not ours is left as it was, and the folder is free again.
    if (existsSync(join(path, 'data.mdb'))) expect(readdirSync(path).filter((each) => each.startsWith('control'))).toEqual([])
  })

  test('leaves a foreign database as it was', async () => {
    const path = folder('foreign')
    await lmdbFile(join(path, 'data.mdb'), (root) => root.put('a', 'b'))
    const before = readFileSync(join(path, 'data.mdb'))
    await expect(EmbeddedStore.open(path)).rejects.toThrow('no Skein store')
    expect(readFileSync(join(path, 'data.mdb')).equals(before)).toBe(true)
  })

  test.skipIf(process.getuid?.() !== 0)('refuses a folder that its user may not write', async () => {
    const path = folder('not writable')
    const script = `process.setgid(65534); process.setuid(65534)
       await EmbeddedStore.open(process.argv[1]).catch((error) => console.log(error.name, error.message))`
    expect((await run(script, path)).out).toMatch(/StoreError the store folder .*not writable cannot be reached \(EACCES\)/)
    chmodSync(top, 0o755)
    expect((await run(script, path)).out).toMatch(/StoreError the store folder .*not writable is not writable for this user \(EACCES\)/)
    expect((await run(script, join(path, 'new'))).out).toMatch(/StoreError the store folder .*new cannot be made \(EACCES\)/)
  })

  test('makes it where a first try was killed', async () => {
    const path = folder('half made')
    writeFileSync(join(path, 'data.mdb.new'), 'half')
    const store = await EmbeddedStore.open(path)
    await store.apply([{ op: 'put', key: ['a'], value: Buffer.from('v') }])
    await store.close()
    expect(readdirSync(path).sort()).toEqual(['data.mdb', 'data.mdb-lock'])
  })

  test('refuses a file cut short at any length, and no length ends the process', async () => {
    const size = statSync(join(good, 'data.mdb')).size
    const pages = size / 4096
    const cuts = new Set([1, 100, 167, 168, 4095, 4096, 4097, 4200, 4264, 8191, 8192, 8193, 12_288, size - 1, size - 4096, size - 4097])
    for (let page = 3; page < pages; page += Math.max(1, Math.floor(pages / 60))) cuts.add(page * 4096).add(page * 4096 + 2000)
    const lengths = [...cuts]
    for (const length of lengths) {
      const path = folder(`cut ${length}`)
      copyFileSync(join(good, 'data.mdb'), join(path, 'data.mdb'))
      truncateSync(join(path, 'data.mdb'), length)
    }
    const { code, signal, out } = await run(
      `for (const length of process.argv.slice(2)) {
         const store = await EmbeddedStore.open(process.argv[1] + '/cut ' + length).catch((error) => error.message)
         if (typeof store === 'string') { console.log(length, store); continue }
         const found = store.subtree([]).length
         await store.apply([{ op: 'put', key: ['new'], value: Buffer.alloc(5000) }])
         console.log(length, 'opened', found)
         await store.close()
       }`,
      top,
      ...lengths.map(String)
    )
    expect([code, signal]).toEqual([0, null])
    const lines = out.trim().split('\n')
    expect(lines).toHaveLength(lengths.length)
    const whole = ENTRIES
    for (const line of lines) expect(line).toMatch(new RegExp(`is no whole Skein store \\(it is cut short\\)|opened ${whole}$`))
    // LMDB may leave free pages at the end; but nearly every cut takes something away.
    expect(lines.filter((line) => line.includes('cut short')).length).toBeGreaterThan(lengths.length * 0.8)
  })

  test('refuses damaged pages that hold its tables', () => {
    const original = readFileSync(join(good, 'data.mdb'))
    expect(faultOfFile(join(good, 'data.mdb'))).toBeUndefined()
    const newest = original.readBigUInt64LE(24 + 128) > original.readBigUInt64LE(4096 + 24 + 128) ? 0 : 4096
    const root = Number(original.readBigUInt64LE(newest + 24 + 72 + 40))
    const damages: [number, Buffer, RegExp][] = [
      [newest + 24 + 72 + 40, Buffer.alloc(8, 0x7f), /page number is damaged/],
      [newest + 24 + 24, Buffer.from([3, 0, 0, 0]), /page size is damaged/],
      [newest + 24 + 4, Buffer.from([9, 0, 0, 0]), /its LMDB format is 9/],
      [root * 4096, Buffer.alloc(4096), /damaged/],
      [root * 4096 + 24, Buffer.alloc(40, 0xff), /damaged/]
    ]
    for (const [at, octets, message] of damages) {
      const path = folder(`damaged ${at}`)
      const copy = Buffer.from(original)
      copy.set(octets, at)
      writeFileSync(join(path, 'data.mdb'), copy)
      expect(() => checkFile(path)).toThrow(message)
    }
  })

  test('finds every acknowledged write after the writer was killed, many times over', async () => {
    const path = folder('killed')
    let known = 0
    for (let round = 0; round < 5; round++) {
      known = await killedWriter(path, known)
      const store = await EmbeddedStore.open(path)
      for (let n = 0; n < known; n++) expect(store.at(['k', `${n}`])[0]?.value.length, `write ${n} of ${known}`).toBe(100 + (n % 5000))
      await store.close()
    }
    expect(known).toBeGreaterThan(20)
  })

  test('has all of a list of changes or none after the writer was killed', async () => {
    const path = folder('killed in lists')
    const script = `const store = await EmbeddedStore.open(process.argv[1])
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100 + Math.random() * 200)
      for (let n = store.revision; ; n++)
        await store.apply(Array.from({ length: 3000 }, (_, m) => ({ op: 'put', key: ['list' + n, String(m)], value: Buffer.alloc(50) })))`
    for (let round = 0; round < 3; round++) {
      expect((await run(script, path)).signal).toBe('SIGKILL')
      const store = await EmbeddedStore.open(path)
      expect(store.subtree([]).length).toBe(store.revision * 3000)
      await store.close()
    }
  })

  test('says so where the disk is full, changes nothing, and goes on when there is room', async () => {
    const path = join(top, 'full')
    const script = `import { EmbeddedStore } from '${STORE}'
      const store = await EmbeddedStore.open(process.argv[2])
      const put = (n, size) => store.apply([{ op: 'put', key: ['k', String(n)], value: Buffer.alloc(size) }])
      let n = 0, error
      while (error === undefined && n < 500) await put(n, 20000).then(() => n++, (fault) => (error = fault))
      const before = [store.revision, store.subtree([]).length]
      await store.apply([{ op: 'rmdir', key: ['k'] }])
      await put(0, 10)
      console.log(JSON.stringify({ n, error: error.message, name: error.name, before, after: store.subtree([]).length }))
      await store.close()`
    writeFileSync(join(top, 'full.mjs'), script)
    // A limit on the size of files stands for a full disk.
    const command = `trap '' XFSZ; ulimit -f 400; exec "$0" "$1" "$2"`
    const child = spawn('bash', ['-c', command, process.execPath, join(top, 'full.mjs'), path], { stdio: ['ignore', 'pipe', 'ignore'] })
    let out = ''
    child.stdout.on('data', (text) => (out += text))
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    const { n, error, name, before, after } = JSON.parse(out.slice(out.indexOf('{"n"'))) as Record<string, unknown>
    expect([name, error]).toEqual(['StoreError', expect.stringContaining(`the store ${path} could not be written (`)])
    // LMDB tells the latter where a write got some of its room.
    expect(error).toMatch(/\((File too large|Input\/output error)\): see to its disk$/)
    expect(before).toEqual([n, n])
    expect(after).toBe(1)
  })
})

/** Starts a writer, kills it in the middle, and gives how many writes it said were done. */
function killedWriter(path: string, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const script = `import { EmbeddedStore } from '${STORE}'
      const store = await EmbeddedStore.open(process.argv[1])
      for (let n = ${from}; ; n += 3) {
        const put = (n) => store
          .apply([{ op: 'put', key: ['k', String(n)], value: Buffer.alloc(100 + (n % 5000)) }])
          .then(() => process.stdout.write(n + '\\n'))
        await Promise.all([put(n), put(n + 1), put(n + 2)])
      }`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.on('data', (text: Buffer) => {
      const isFirst = out === ''
      out += text
      if (isFirst) setTimeout(() => child.kill('SIGKILL'), 40 + Math.random() * 60)
    })
    child.on('error', reject)
    child.on('close', () => {
      const done = new Set(out.split('\n').slice(0, -1).map(Number))
      let next = from
      while (done.has(next)) next++
      resolve(next)
    })
  })
}
