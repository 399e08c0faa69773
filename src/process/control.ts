/** The control socket of a store's folder: what the commands ask a running server. A Unix socket of mode 0600, HTTP on it. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { EmbeddedStore } from '../store/embedded.js'
import { keysApi } from '../store/keys-api.js'
import { keysServer } from '../store/keys-listen.js'
import { StoreError } from '../store/store.js'
import { isVerb, type KvArguments, kvVerb } from './kv-verbs.js'
import { eachLine } from './lines.js'

/** A control socket that is answered. */
export interface Control {
  close(): Promise<void>
}

/** A command may take as long as it takes to read what is imported. */
const NO_LIMIT = 0

/** Answers on the socket that locks the store's folder, until it is closed. */
export function serveControl(store: EmbeddedStore): Control {
  const keys = keysApi(store, { writable: true, allowedHosts: 'any' })
  const server = keysServer((request, response) => {
    if (request.url?.startsWith('/kv/') === true) void answerVerb(store, request, response)
    else keys(request, response)
  })
  server.requestTimeout = NO_LIMIT
  store.lock.server.on('connection', (socket) => server.emit('connection', socket))
  return { close: () => closeServer(server, store) }
}

async function answerVerb(store: EmbeddedStore, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const url = new URL(request.url ?? '', 'http://control')
    const verb = url.pathname.slice('/kv/'.length)
    if (request.method !== 'POST' || !isVerb(verb)) throw new StoreError(`no such command: ${request.method} ${url.pathname}`)
    const asked = JSON.parse(url.searchParams.get('arguments') ?? '{}') as KvArguments
    for await (const chunk of kvVerb(store, verb, asked, eachLine(request))) {
      if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
    }
    response.end()
  } catch (error) {
    // An export that fails half-way cannot say so any more but by breaking off.
    if (response.headersSent) return void response.destroy()
    response.statusCode = 400
    response.end(error instanceof Error ? error.message : String(error))
  }
}

function closeServer(server: Server, store: EmbeddedStore): Promise<void> {
  store.lock.server.removeAllListeners('connection')
  server.closeAllConnections()
  return Promise.resolve()
}
