import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreError } from './store.js'
import { identityOf, isAnswered, listenAlone, MAX_SOCKET_PATH } from './unix-socket.js'

const SOCKET = 'control.sock'
const PID = 'control.pid'

/** Names that the lock leaves in a folder. */
export const lockFiles: readonly string[] = [SOCKET, PID]

/** A folder that belongs to this process until it is released. */
export interface FolderLock {
  /** Listens on the folder's control socket; whoever holds the lock says what it answers, with `on('connection')`. */
  readonly server: Server
  /** Where that socket is. */
  readonly path: string
  release(): Promise<void>
}

/** Where the control socket of a folder is: in it, or in a private temporary folder where its path would be too long. */
export function controlPath(folder: string): string {
  const real = realpathSync(folder)
  const inside = join(real, SOCKET)
  if (Buffer.byteLength(inside) <= MAX_SOCKET_PATH) return inside
  return join(tmpdir(), `skein-${createHash('sha256').update(real).digest('hex').slice(0, 24)}`, SOCKET)
}

/**
 * Makes a folder this process's own by listening on its control socket; the kernel ends that with the process,
 * so a crash leaves nothing that locks.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const path = controlPath(folder)
  if (!path.startsWith(realpathSync(folder))) makePrivate(join(path, '..'))
  const server = createServer()
  const sockets = trackSockets(server)
  const pidFile = join(folder, PID)
  // Whoever ends in its own way takes its number along.
  if (!(await listenAlone(server, path, existsSync(pidFile)))) throw new StoreError(inUse(folder, pidFile))
  const ours = identityOf(path)
  writePid(pidFile)
  let released: Promise<void> | undefined
  const release = (): Promise<void> => {
    if (released === undefined) {
      for (const socket of sockets) socket.destroySoon()
      // The folder may have been moved, and another server own one of its name: the end of this listener would remove its socket.
      if (identityOf(path) !== ours) {
        server.unref()
        released = Promise.resolve()
        return released
      }
      // The listener's end removes the socket, and the next owner may write its number at once: so this goes first.
      rmSync(pidFile, { force: true })
      released = new Promise((resolve) => server.close(() => resolve()))
    }
    return released
  }
  return { server, path, release }
}

/** The number is a hint for a message: a full disk is no reason not to serve. */
function writePid(pidFile: string): void {
  try {
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o644 })
  } catch {
    rmSync(pidFile, { force: true })
  }
}

/** Whether some process holds the folder. */
export function isLocked(folder: string): Promise<boolean> {
  return isAnswered(controlPath(folder))
}

/** The open connections, so that the lock's end need not wait for theirs; without a listener beside this one they end at once. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    // Whoever only looks whether this process lives hangs up at once, which is no fault to end it.
    socket.on('error', () => socket.destroy())
    if (server.listenerCount('connection') === 1) return socket.destroy()
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

function inUse(folder: string, pidFile: string): string {
  let owner = ''
  try {
    const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
    if (pid > 0) owner = ` (pid ${pid})`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return `the store folder ${folder} is in use by another Skein${owner}: stop that one, or give this one a folder of its own`
}

/** A folder that another user could have made would let that user answer in Skein's place. */
function makePrivate(folder: string): void {
  mkdirSync(folder, { mode: 0o700, recursive: true })
  const stat = lstatSync(folder)
  if (stat.isDirectory() && (stat.mode & 0o077) === 0 && (process.getuid === undefined || stat.uid === process.getuid())) return
  throw new StoreError(`${folder}, where the control socket goes, belongs to somebody else or is open to others: remove it`)
}
