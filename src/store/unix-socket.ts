import { once } from 'node:events'
import { chmodSync, linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
import { StoreError } from './store.js'

/** The longest path of a Unix socket: it goes into sun_path, 108 octets on Linux, 104 elsewhere, and Node cuts a longer one without a word. */
export const MAX_SOCKET_PATH = 100

// Longer than anybody holds an old socket's number between looking and renaming: microseconds, and more where the processors are busy.
const SETTLE_MS = 100
const ATTEMPTS = 20

/**
 * Listens on a Unix socket of mode 0600, taking over one whose owner is gone; false where its owner is alive. `wasLeft` says that an owner
 * was killed here, so that others may be about to take it over, whose old socket is gone already.
 */
export async function listenAlone(server: Server, path: string, wasLeft = false): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await bind(server, path)) {
      // Whoever found an old socket here a moment ago may just have taken this one away.
      if (attempt === 0 && !wasLeft) return true
      const ours = identityOf(path)
      await delay(SETTLE_MS)
      if (ours !== undefined && identityOf(path) === ours) return true
      await new Promise((resolve) => server.close(resolve))
      continue
    }
    // A link is none either, wherever it leads to.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false)
      throw new StoreError(`${path} is not a socket: move what is there away`)
    const found = identityOf(path)
    if (await isAnswered(path)) return false
    if (found !== undefined) takeAway(path, found)
  }
  throw new StoreError(`the socket ${path} could not be taken: several processes try at once; start one, then look again`)
}

async function bind(server: Server, path: string): Promise<boolean> {
  try {
    await listen(server, path)
    chmodSync(path, 0o600)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
}

function listen(server: Server, path: string): Promise<unknown> {
  const listening = once(server, 'listening')
  // Between bind and chmod anybody could connect; a worker thread cannot set the mask, and keeps that moment.
  const mask = isMainThread ? process.umask(0o177) : undefined
  try {
    server.listen(path)
  } finally {
    if (mask !== undefined) process.umask(mask)
  }
  return listening
}

/** Removes the socket that was found dead, and no other: one that came in its place is put back. */
function takeAway(path: string, found: string): void {
  const aside = `${path}.${process.pid}`
  try {
    if (identityOf(path) !== found) return
    renameSync(path, aside)
    if (identityOf(aside) !== found) linkSync(aside, path)
    unlinkSync(aside)
  } catch (error) {
    // Somebody else was quicker; the next attempt sees what is there.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error
  }
}

/** Tells a file from a later one of the same path; an inode's number alone is given again at once. */
export function identityOf(path: string): string | undefined {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.ino} ${stat.mtimeNs}`
}

/** Whether somebody listens. A full backlog is somebody who is busy. */
export function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      else if (error.code === 'EAGAIN' || error.code === 'EACCES') resolve(true)
      else reject(error)
    })
  })
}
