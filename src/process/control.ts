/** The control socket of a store's folder: what the commands ask a running server. A Unix socket of mode 0600, HTTP on it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { keysApi } from '../store/keys-api.js'
import { keysServer } from '../store/keys-listen.js'
import type { LockedStore } from '../store/locked.js'
import { StoreError } from '../store/store.js'
import { isVerb, type KvArguments, kvVerb } from './kv-verbs.js'

/** A control socket that is answered. */
export interface Control {
  /** The URL of the module that knows what values are to be. */
  judge: string | undefined
  close(): Promise<void>
}

/** A command may take as long as it takes to read what is imported. */
const NO_LIMIT = 0
/** A command that takes nothing of an answer for so long is gone: while it is not, a view of the store is kept for it. */
const QUIET_MS = 60_000

/** Answers on the socket that locks the store's folder, until it is closed. */
export function serveControl(store: LockedStore, judge?: string): Control {
  const keys = keysApi(store, { writable: store.isWritable, allowedHosts: 'any' })
  const server = keysServer((request, response) => {
    if (request.url?.startsWith('/kv/') === true) void answerVerb(store, control.judge, request, response)
    else keys(request, response)
  })
  server.requestTimeout = NO_LIMIT
  server.setTimeout(QUIET_MS)
  const accept = (socket: Socket): void => void server.emit('connection', socket)
  store.lock.server.on('connection', accept)
  const control: Control = {
    judge,
    close: () => {
      store.lock.server.removeListener('connection', accept)
      server.closeAllConnections()
      return Promise.resolve()
    }
  }
  return control
}

async function* behind<T>(first: IteratorResult<T>, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  if (first.done !== true) yield first.value
  yield* rest
}

async function answerVerb(
  store: LockedStore,
  judge: string | undefined,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> {
  try {
    const url = new URL(request.url ?? '', 'http://control')
    const verb = url.pathname.slice('/kv/'.length)
    if (request.method !== 'POST' || !isVerb(verb)) throw new StoreError(`no such command: ${request.method} ${url.pathname}`)
    const asked = JSON.parse(url.searchParams.get('arguments') ?? '{}') as KvArguments
    const chunks = kvVerb(store, verb, { ...asked, judge }, request)
    // What fails before its first word is told with a status.
    const first = await chunks.next()
    // Ends the verb, and with it its view of the store, when the command goes away.
    await pipeline(Readable.from(behind(first, chunks)), response)
  } catch (error) {
    // An export that fails half-way cannot say so any more but by breaking off.
    if (response.headersSent) return void response.destroy()
    response.statusCode = 400
    response.end(error instanceof Error ? error.message : String(error))
  }
}
