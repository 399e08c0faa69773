import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EmbeddedStore } from './embedded.js'
import { controlPath, isLocked, lockFolder } from './lock.js'

let folder: string
const LOCK = new URL('./lock.js', import.meta.url).href

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skein-lock-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A process that holds the lock until it is killed, or says why it does not. */
async function holder(path: string): Promise<{ said: string; kill(): Promise<void> }> {
  const script = `import { lockFolder } from '${LOCK}'
    await lockFolder(process.argv[1]).then(() => console.log('held'), (error) => { console.log(error.message); process.exit() })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
  return { said: said.toString().trim(), kill }
}

describe('the lock of a folder', () => {
  test('is a socket that only its user may open, and is gone with its release', async () => {
    const lock = await lockFolder(folder)
    expect(statSync(lock.path).mode & 0o777).toBe(0o600)
    expect(lock.path).toBe(join(folder, 'control.sock'))
    expect(await isLocked(folder)).toBe(true)
    await lock.release()
    await lock.release()
    expect([existsSync(lock.path), existsSync(join(folder, 'control.pid')), await isLocked(folder)]).toEqual([false, false, false])
  })

  test('has a server whose connections belong to its holder', async () => {
    const lock = await lockFolder(folder)
    lock.server.on('connection', (socket) => socket.write('hello'))
    const socket = connect(lock.path)
    const [text] = (await once(socket, 'data')) as [Buffer]
    expect(text.toString()).toBe('hello')
    // It is open still, and does not hold up the end.
    await lock.release()
    socket.destroy()
  })

  test('is refused to a second, with the number of the first', async () => {
    const lock = await lockFolder(folder)
    const todo = 'stop that one, or give this one a folder of its own'
    const message = `the store folder ${folder} is in use by another Skein (pid ${process.pid}): ${todo}`
    await expect(lockFolder(folder)).rejects.toThrow(message)
    expect((await holder(folder)).said).toBe(message)
    const link = `${folder}-link`
    symlinkSync(folder, link)
    await expect(EmbeddedStore.open(link)).rejects.toThrow('is in use by another Skein')
    rmSync(link)
    await lock.release()
  })

  test('passes on when its holder was killed', async () => {
    const first = await holder(folder)
    expect(first.said).toBe('held')
    await expect(EmbeddedStore.open(folder)).rejects.toThrow('in use by another Skein (pid ')
    await first.kill()
    expect(existsSync(join(folder, 'control.sock'))).toBe(true)
    const store = await EmbeddedStore.open(folder)
    expect(readFileSync(join(folder, 'control.pid'), 'utf8')).toBe(`${process.pid}\n`)
    await store.close()
  })

  test('goes to one only of many that take over at once', async () => {
    for (let round = 0; round < 3; round++) {
      await (await holder(folder)).kill()
      const all = await Promise.all(Array.from({ length: 5 }, () => holder(folder)))
      expect(all.filter(({ said }) => said === 'held').length, all.map(({ said }) => said).join('\n')).toBe(1)
      for (const each of all) await each.kill()
    }
  })

  test('is in a private folder where the path is too long for a socket', async () => {
    const deep = join(folder, 'x'.repeat(60), 'y'.repeat(60))
    mkdirSync(deep, { recursive: true })
    const lock = await lockFolder(deep)
    expect(lock.path).toMatch(/^\/.*\/skein-[0-9a-f]{24}\/control\.sock$/)
    expect(lock.path).toBe(controlPath(deep))
    expect(statSync(join(lock.path, '..')).mode & 0o777).toBe(0o700)
    await expect(lockFolder(deep)).rejects.toThrow('is in use by another Skein')
    await lock.release()
    chmodSync(join(lock.path, '..'), 0o755)
    await expect(lockFolder(deep)).rejects.toThrow('belongs to somebody else or is open to others')
    rmSync(join(lock.path, '..'), { recursive: true })
  })

  test.each<[what: string, make: (path: string, elsewhere: string) => unknown]>([
    ['file', (path) => writeFileSync(path, 'x')],
    ['folder', (path) => mkdirSync(path)],
    ['link to nothing', (path, elsewhere) => symlinkSync(elsewhere, path)],
    ['link to itself', (path) => symlinkSync(path, path)],
    ['link to a folder', (path) => symlinkSync(tmpdir(), path)],
    ['link to a file', (path) => symlinkSync(process.execPath, path)]
  ])('takes away no %s that is in its place', async (_what, make) => {
    const [path, elsewhere] = [join(folder, 'control.sock'), join(folder, 'elsewhere')]
    make(path, elsewhere)
    const before = lstatSync(path).ino
    await expect(lockFolder(folder)).rejects.toThrow('control.sock is not a socket: move what is there away')
    expect([lstatSync(path).ino, existsSync(elsewhere)]).toEqual([before, false])
  })

  test('does not go by a link to the socket of another', async () => {
    const other = mkdtempSync(join(tmpdir(), 'skein-lock-'))
    const lock = await lockFolder(other)
    symlinkSync(lock.path, join(folder, 'control.sock'))
    await expect(lockFolder(folder)).rejects.toThrow('control.sock is not a socket: move what is there away')
    await lock.release()
    rmSync(other, { recursive: true })
  })

  test('that the caller holds stays with the caller', async () => {
    const lock = await lockFolder(folder)
    const store = await EmbeddedStore.open(folder, { lock })
    await store.close()
    expect(await isLocked(folder)).toBe(true)
    await lock.release()
  })
})

test('the end of one whose folder was moved leaves the lock of who came in its place', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-moved-'))
  const data = join(folder, 'data')
  mkdirSync(data)
  const first = await lockFolder(data)
  renameSync(data, join(folder, 'old'))
  mkdirSync(data)
  const second = await lockFolder(data)
  await first.release()
  expect(await isLocked(data)).toBe(true)
  await expect(lockFolder(data)).rejects.toThrow(/in use by another Skein/)
  await second.release()
  expect(await isLocked(data)).toBe(false)
  rmSync(folder, { recursive: true, force: true })
})
