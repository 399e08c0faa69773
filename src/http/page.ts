/** One page over HTTP: what plugins tell of the server to whoever asks. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIPv6, type Socket } from 'node:net'
import { listenProblem } from '../message/listen-problem.js'
import { thrownText } from '../message/one-line.js'
import { hold, isHeld } from './held.js'
import type { HttpPlace } from './place.js'

/** How many clients may be connected: a few that ask, and some to spare. */
const MOST_CONNECTIONS = 64
/** How long a client may take to ask. */
const REQUEST_MS = 10_000
/** How often it is looked for those who take longer. */
const LOOK_MS = 2_000
/** A server stops within a second, all its parts together. */
const FINISH_MS = 250
/** How often it is looked whether a port is free that the configuration before has, and when it is told that it is not. */
const FREE_MS = 20
const NOT_FREE_MS = 10_000

/** A page, and what is said there. */
export interface HttpPage {
  /** Such as `/metrics`, each the same; everything else is 404. They may change while it is served. */
  readonly paths: readonly string[] | ReadonlySet<string>
  /** Called at each GET and HEAD. Where it fails, that is status 500 and a line for `tell`. */
  read(): HttpReply | PromiseLike<HttpReply>
  /** Told what the operator should know, in words. */
  tell(problem: string): void
}

/** What is answered; status 200 and plain text where nothing else is said. */
export interface HttpReply {
  readonly status?: number
  readonly type?: string
  readonly text: string
}

/** A page that is served: what `host.shared` wants to be made. */
export interface HttpEnd {
  /** Where it listens, with the port that was got. */
  readonly value: AddressInfo
  readonly close: () => Promise<void>
}

/**
 * Serves one page, to everyone who reaches the address. Where it cannot listen it fails, with the reason in words as message. A client has
 * 10 seconds to ask, and 64 may be connected. Closing takes a quarter of a second at most.
 */
export async function openHttp(place: HttpPlace, page: HttpPage): Promise<HttpEnd> {
  const busy = new Set<Socket>()
  const limits = { headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: LOOK_MS }
  const server = createServer(limits, ({ method = '', url = '', socket }, response) => {
    busy.add(socket)
    response.once('close', () => busy.delete(socket))
    void answer(page, method, url.replace(/\?.*$/s, ''), response)
  })
  server.maxConnections = MOST_CONNECTIONS
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  const value = await listenHttp(server, place)
  // Running out of descriptors must not end the server.
  server.on('error', (error) => page.tell(`${place.text}: ${listenProblem(error)}`))
  // Who is connected and asks for nothing has nothing to wait for.
  return { value, close: () => close(server, () => [...open].filter((socket) => !busy.has(socket))) }
}

/**
 * Has a server listen; where it cannot it fails, with the reason in words as message. A port that this process itself has is one of the
 * configuration before a reload, which gives it back: the server listens then, and is told of what goes wrong by its `error`.
 */
export async function listenHttp(server: Server, place: HttpPlace): Promise<AddressInfo> {
  try {
    await listening(server, place)
  } catch (error) {
    const problem = error as NodeJS.ErrnoException
    const { host, port } = place
    if (problem.code !== 'EADDRINUSE' || !isHeld(host, port)) throw new Error(listenProblem(problem), { cause: error })
    listenWhenFree(server, place)
    return { address: host === '' ? '::' : host, family: isIPv6(host) ? 'IPv6' : 'IPv4', port }
  }
  return server.address() as AddressInfo
}

async function listening(server: Server, { host, port }: HttpPlace): Promise<void> {
  // Without a host it listens on all addresses.
  server.listen({ port, ...(host !== '' && { host }) })
  await once(server, 'listening')
  hold(server)
}

function listenWhenFree(server: Server, place: HttpPlace): void {
  const begun = performance.now()
  let isTold = false
  const timer = setInterval(() => {
    const isFree = !isHeld(place.host, place.port)
    if (isFree) {
      clearInterval(timer)
      // Its `error` tells of a failure.
      listening(server, place).catch(() => {})
    } else if (!isTold && performance.now() - begun > NOT_FREE_MS) {
      isTold = true
      server.emit('error', new Error('another part of this server has the port, and is waited for'))
    }
  }, FREE_MS).unref()
  server.once('close', () => clearInterval(timer))
}

async function answer(page: HttpPage, method: string, path: string, response: ServerResponse): Promise<void> {
  const paths = [...page.paths]
  if (!paths.includes(path)) return write(response, { status: 404, text: `there is ${paths.join(' and ')} alone\n` })
  if (method !== 'GET' && method !== 'HEAD')
    return write(response.setHeader('allow', 'GET, HEAD'), { status: 405, text: 'read with GET\n' })
  try {
    write(response, await page.read())
  } catch (error) {
    page.tell(`${path} cannot be read: ${thrownText(error)}`)
    write(response, { status: 500, text: 'this cannot be read, see the log\n' })
  }
}

function write(response: ServerResponse, { status = 200, type = 'text/plain; charset=utf-8', text }: HttpReply): void {
  response.writeHead(status, { 'content-type': type }).end(text)
}

function close(server: Server, idle: () => readonly Socket[]): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), FINISH_MS)
    server.close(() => {
      clearTimeout(late)
      resolve()
    })
    for (const socket of idle()) socket.destroy()
  })
}
