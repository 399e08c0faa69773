import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { madePrivate, runtimeFolder, runtimeFolders, type Surroundings, socketName } from './runtime-folder.js'

const UID = process.getuid!()
let folder: string
let around: Surroundings

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skein-runtime-'))
  around = { uid: UID, session: undefined, run: join(folder, 'run'), temporary: folder }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A folder below the temporary one. */
function made(name: string, mode = 0o700): string {
  mkdirSync(join(folder, name), { recursive: true })
  chmodSync(join(folder, name), mode)
  return join(folder, name)
}

describe('the folder of the control socket is', () => {
  test('in the one of the session, where that is the user’s own', () => {
    const session = made('session')
    expect(runtimeFolder({ ...around, session })).toBe(join(session, 'skein'))
    expect(runtimeFolder({ ...around, session: 'session' })).toBe(join(folder, `skein-${UID}`))
    expect(runtimeFolder({ ...around, session: join(folder, 'gone') })).toBe(join(folder, `skein-${UID}`))
    chmodSync(session, 0o777)
    expect(runtimeFolder({ ...around, session })).toBe(join(folder, `skein-${UID}`))
    const long = made('long-'.repeat(20))
    expect(runtimeFolder({ ...around, session: long })).toBe(join(folder, `skein-${UID}`))
  })

  test('that of services for root, and for whom it was made', () => {
    made('run', 0o755)
    const someone = { ...around, uid: UID + 1 }
    expect(runtimeFolder(someone)).toBe(join(folder, `skein-${UID + 1}`))
    if (UID === 0) expect(runtimeFolder(around)).toBe(join(folder, 'run/skein'))
    made('run/skein', 0o755)
    expect(runtimeFolder(around)).toBe(join(folder, 'run/skein'))
    expect(runtimeFolder(someone)).toBe(join(folder, `skein-${UID + 1}`))
  })

  test('made with mode 0700', () => {
    const path = join(folder, 'skein')
    expect(madePrivate(path, around)).toBeUndefined()
    expect(statSync(path).mode & 0o777).toBe(0o700)
    expect(madePrivate(path, around)).toBeUndefined()
  })

  test.each<[title: string, make: () => string, uid: number, why: RegExp]>([
    ['that others can write to', () => made('open', 0o777), UID, /^the folder belongs to somebody else, or others can write to it/],
    ['of another user', () => made('foreign'), UID + 1, /^the folder belongs to somebody else/],
    [
      'that is a link',
      () => {
        symlinkSync(made('target'), join(folder, 'link'))
        return join(folder, 'link')
      },
      UID,
      /^the folder belongs to somebody else/
    ],
    [
      'that is a file',
      () => {
        writeFileSync(join(folder, 'file'), '')
        return join(folder, 'file')
      },
      UID,
      /^the folder belongs to somebody else/
    ],
    ['without the folder that it is to be in', () => join(folder, 'no/skein'), UID, /^the folder cannot be made: ENOENT$/],
    ['with a long path', () => join(folder, 'x'.repeat(100)), UID, /^its path would be longer than 100 octets: set XDG_RUNTIME_DIR/]
  ])('not one %s', (_title, make, uid, why) => {
    expect(madePrivate(make(), { ...around, uid })).toMatch(why)
  })

  test('looked for wherever a server may have it, and not in folders of others', () => {
    expect(runtimeFolders(around)).toEqual([])
    const all = [made('session/skein'), made(`run/user/${UID}/skein`), made('run/skein'), made(`skein-${UID}`)]
    expect(runtimeFolders({ ...around, session: join(folder, 'session') })).toEqual(all)
    expect(runtimeFolders({ ...around, uid: UID + 1 })).toEqual([])
    for (const path of all) chmodSync(path, 0o777)
    expect(runtimeFolders(around)).toEqual([])
  })

  test.skipIf(UID !== 0)('and root looks into the folder of a service that runs as another user', () => {
    chownSync(made('run/skein'), 1, 1)
    chownSync(made('skein-0'), 1, 1)
    expect(runtimeFolders(around)).toEqual([join(folder, 'run/skein')])
  })
})

describe('the name of a Corefile’s socket is', () => {
  test('one for each file, whatever the way to it', () => {
    made('a')
    symlinkSync(join(folder, 'a'), join(folder, 'b'))
    const name = socketName(join(folder, 'a/Corefile'))
    expect(name).toMatch(/^[\da-f]{24}\.sock$/)
    expect(socketName(join(folder, 'b/../a/./Corefile'))).toBe(name)
    expect(socketName(join(folder, 'b/Corefile'))).toBe(name)
    expect(socketName(join(folder, 'a/Corefile2'))).not.toBe(name)
  })

  test('the same when a link in its place is turned to another file', () => {
    const file = join(folder, 'Corefile')
    const before = socketName(file)
    symlinkSync(join(folder, 'first'), file)
    expect(existsSync(file)).toBe(false)
    expect(socketName(file)).toBe(before)
  })
})
