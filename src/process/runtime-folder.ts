/** Where the control socket of a server is: in a private folder, under a name that is made of its Corefile's path. */
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { MAX_SOCKET_PATH } from '../store/unix-socket.js'

/** Folders that others cannot write to keep others from answering in the server's place. */
const WRITABLE_BY_OTHERS = 0o022
/** A hash of that many digits and an ending. */
const NAME_DIGITS = 24

/** The user, and what there is to find the folder by. */
export interface Surroundings {
  /** Undefined where there are no users. */
  readonly uid: number | undefined
  /** `XDG_RUNTIME_DIR`. */
  readonly session: string | undefined
  /** What services keep their sockets in; below it `user/UID` are the sessions. */
  readonly run: string
  readonly temporary: string
}

/** Those of this process. */
export function surroundings(): Surroundings {
  return { uid: process.getuid?.(), session: process.env.XDG_RUNTIME_DIR, run: '/run', temporary: tmpdir() }
}

/** The folder for a server's control socket; it may not be there yet. */
export function runtimeFolder({ uid, session = '', run, temporary }: Surroundings): string {
  if (session.startsWith('/') && isPrivate(session, uid) && fits(join(session, 'skein'))) return join(session, 'skein')
  const ofServices = join(run, 'skein')
  // A service manager makes it for a service that is to have it.
  if (isPrivate(ofServices, uid) || (uid === 0 && isPrivate(run, uid))) return ofServices
  return join(temporary, `skein-${uid ?? 'user'}`)
}

/**
 * All folders in which a server that this user may ask could have its socket: the server may have been started with another
 * environment.
 */
export function runtimeFolders(around: Surroundings): string[] {
  const { uid, run, temporary } = around
  const ofServices = join(run, 'skein')
  const folders = [runtimeFolder(around), join(run, 'user', String(uid), 'skein'), ofServices, join(temporary, `skein-${uid ?? 'user'}`)]
  // Root may ask a service of another user, and nobody else could have made that folder.
  const owner = (folder: string): number | undefined => (uid === 0 && folder === ofServices ? statOf(folder)?.uid : uid)
  return [...new Set(folders)].filter((folder) => isPrivate(folder, owner(folder)))
}

/**
 * What the socket of a Corefile is called. The folder counts as it really is, the file by its name there: who replaces a Corefile
 * often turns a link to another file, and it is the same server's.
 */
export function socketName(file: string): string {
  const path = resolve(file)
  return `${createHash('sha256')
    .update(join(realpathSync(dirname(path)), basename(path)))
    .digest('hex')
    .slice(0, NAME_DIGITS)}.sock`
}

/** Makes the folder where it is missing. Gives why it cannot be used, in words. */
export function madePrivate(folder: string, { uid }: Surroundings): string | undefined {
  if (!fits(folder)) return `its path would be longer than ${MAX_SOCKET_PATH} octets: set XDG_RUNTIME_DIR to a folder with a shorter one`
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') return `the folder cannot be made: ${code ?? message}`
  }
  if (isPrivate(folder, uid)) return undefined
  return 'the folder belongs to somebody else, or others can write to it: remove it, or set XDG_RUNTIME_DIR to a folder of your own'
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, 'x'.repeat(NAME_DIGITS + '.sock'.length))) <= MAX_SOCKET_PATH
}

/** Whether a folder is there that belongs to this user and that nobody else can write to. */
export function isPrivate(folder: string, uid: number | undefined): boolean {
  const stat = statOf(folder)
  return stat?.isDirectory() === true && (stat.mode & WRITABLE_BY_OTHERS) === 0 && (uid === undefined || stat.uid === uid)
}

/** Of the folder itself: a link could be turned. */
function statOf(folder: string): Stats | undefined {
  try {
    return lstatSync(folder)
  } catch {
    // What cannot be looked at cannot be used.
    return undefined
  }
}
