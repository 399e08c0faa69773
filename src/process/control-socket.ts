/** The control socket of a running server: always there, for the commands. A Unix socket of mode 0600, HTTP on it. */
import type { Server as NetServer } from 'node:net'
import { join } from 'node:path'
import { thrownText } from '../message/one-line.js'
import type { Log } from '../plugin.js'
import { closeServer, keysServer } from '../store/keys-listen.js'
import { identityOf, listenAlone } from '../store/unix-socket.js'
import { type AdminCall, adminHandler } from './admin.js'
import { isStdin } from './configuration.js'
import { madePrivate, runtimeFolder, type Surroundings, socketName, surroundings } from './runtime-folder.js'

/** It is closed last, when nothing is left to wait for. */
const FINISH_MS = 50

/** A control socket that is answered. */
export interface ControlSocket {
  readonly path: string
  close(): Promise<void>
}

/** How the socket of a server is found, and what is answered there. */
export interface ControlOptions {
  /** Of the Corefile, as it was named. */
  readonly file: string
  readonly calls: readonly AdminCall[]
  readonly log: Log
  readonly around?: Surroundings
}

/** Opens the socket. Where it cannot be, the server goes without, and a line in the log says why. */
export async function openControlSocket(options: ControlOptions): Promise<ControlSocket | undefined> {
  const { file, log, around = surroundings() } = options
  const folder = runtimeFolder(around)
  const without = (why: string): undefined => {
    log.warn(`no control socket in ${folder}, so that commands do not find this server: ${why}`)
    return undefined
  }
  try {
    const refused = madePrivate(folder, around)
    if (refused !== undefined) return without(refused)
    const path = join(folder, isStdin(file) ? `pid-${process.pid}.sock` : socketName(file))
    return (await listen(path, options)) ?? without(`another server of ${file} has ${path}`)
  } catch (error) {
    return without(thrownText(error))
  }
}

async function listen(path: string, { calls, log }: ControlOptions): Promise<ControlSocket | undefined> {
  // Whoever can open it may do all; no browser comes by.
  const guard = { allowedHosts: 'any' } as const
  const server = keysServer(
    adminHandler(
      () => calls,
      () => guard,
      (problem) => log.error(problem)
    )
  )
  if (!(await listenAlone(server as NetServer, path))) return undefined
  server.on('error', (error) => log.error(`the control socket: ${error.message}`))
  const ours = identityOf(path)
  return {
    path,
    close() {
      // The end of the listener removes the file, which may be another server's where somebody has removed ours.
      if (identityOf(path) === ours) return closeServer(server, FINISH_MS)
      server.unref()
      server.closeAllConnections()
      return Promise.resolve()
    }
  }
}
