import { createServer, type Server } from 'node:http'
import { isIPv6, type Server as NetServer, type Socket } from 'node:net'
import { hold, isHeld } from '../http/held.js'
import type { KeysHandler } from './keys-api.js'
import { StoreError } from './store.js'
import { listenAlone, MAX_SOCKET_PATH } from './unix-socket.js'

/** The keys API as it is served. */
export interface KeysServer {
  /** Where: `127.0.0.1:4001`, with the port that was got, or `unix:/path`. */
  readonly address: string
  /** Ends it: no new calls; those under way get a moment to finish. */
  close(): Promise<void>
}

/** A server stops within a second, all its parts together. */
const FINISH_MS = 250

const openSockets = new WeakMap<Server, Set<Socket>>()

/** An HTTP server with limits: on connections, on headers, and on how long a client may take for each. */
export function keysServer(handler: KeysHandler): Server {
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 20_000, keepAliveTimeout: 10_000, connectionsCheckingInterval: 2000, maxHeaderSize: 16_384 },
    handler
  )
  const sockets = new Set<Socket>()
  openSockets.set(server, sockets)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.maxConnections = 256
  // Node would drop the rest in silence, an Origin among them; their size is bounded.
  server.maxHeadersCount = 0
  return server
}

/** Serves on `address:port`, `[address]:port` or `unix:PATH`. */
export async function serveKeys(address: string, handler: KeysHandler): Promise<KeysServer> {
  const server = keysServer(handler)
  const shown = address.startsWith('unix:') ? await listenOnPath(server, address) : await listenOnPort(server, address)
  return { address: shown, close: () => closeServer(server) }
}

async function listenOnPath(server: Server, address: string): Promise<string> {
  const path = address.slice('unix:'.length)
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH)
    throw new StoreError(`the path in ${address} is longer than ${MAX_SOCKET_PATH} octets: choose a shorter one`)
  const alone = await listenAlone(server as NetServer, path).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof StoreError) throw error
    throw new StoreError(`the keys API cannot listen on ${address} (${error.code}): see to its folder, or choose another`, { cause: error })
  })
  if (!alone) throw new StoreError(`the socket ${path} is in use: stop who listens on it, or choose another`)
  return address
}

function listenOnPort(server: Server, address: string): Promise<string> {
  const [, host = '', port = ''] = /^(?:\[([^\]]+)\]|[^:[\]]+):\d+$/.test(address) ? /^\[?([^\]]+?)\]?:(\d+)$/.exec(address)! : []
  if (port === '') throw new StoreError(`${address} is no address to listen on: write 127.0.0.1:4001, [::1]:4001 or unix:/path`)
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new StoreError(`the keys API cannot listen on ${address} (${error.code}): ${adviceOn(host, Number(port))}`, { cause: error }))
    )
    server.listen(Number(port), host, () => {
      server.removeAllListeners('error')
      hold(server)
      const bound = server.address() as { address: string; port: number }
      resolve(isIPv6(bound.address) ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`)
    })
  })
}

function adviceOn(host: string, port: number): string {
  return isHeld(host, port)
    ? 'this server itself has it for something else: have it reload without that first'
    : 'free it, or choose another address'
}

/** Ends a server made by {@link keysServer}: no new calls; those under way get so long to finish. */
export function closeServer(server: Server, finishMs = FINISH_MS): Promise<void> {
  return new Promise((resolve) => {
    const silent = [...(openSockets.get(server) ?? [])].filter(({ bytesRead }) => bytesRead === 0)
    const late = setTimeout(() => server.closeAllConnections(), finishMs)
    server.close(() => {
      clearTimeout(late)
      resolve()
    })
    server.closeIdleConnections()
    // Node counts a connection that never sent anything among the busy ones.
    for (const socket of silent) socket.destroy()
  })
}
