import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { EtcdError, type EtcdPatience, type Position } from './client.js'
import type { EtcdSource } from './source.js'
import { connectionError, refusalError, strangeAnswer, type V2Refusal } from './v2-failure.js'
import { isNode, strangeNode, type V2Event } from './v2-node.js'

/** What etcd has answered: an event, or a refusal; and how far it was then. */
export interface V2Answer {
  readonly position: Position
  readonly said: V2Event | V2Refusal
}

/** How to ask. */
export interface AskOptions {
  /** A form. */
  readonly body?: string
  /** How long it may take in all; the client's `callMs` where left out. */
  readonly withinMs?: number
  /** The answer may be large: that long for its beginning, and again between its parts. */
  readonly isLarge?: boolean
}

/** Is told of a wait. Ends with one of `answer`, `empty` and `failed`. */
export interface WaitListener {
  /** It is registered: from here on no change is missed that comes after the index that was asked for. `date` is the server's clock. */
  begun(position: Position, date: number): void
  answer(said: V2Event | V2Refusal): void
  /** It has ended without an answer. */
  empty(): void
  failed(error: EtcdError): void
}

/** The longest answer: one that is longer could not be held twice, as octets and as text. */
const MOST_OCTETS = 256 * 1024 * 1024
/** A large answer may take so many times what a question may. */
const LARGE = 10

/** Requests to one endpoint, over connections that stay. */
export class V2Http {
  readonly #source: EtcdSource
  readonly #patience: EtcdPatience
  readonly #server: { readonly hostname: string; readonly port: string }
  readonly #agent: HttpAgent
  readonly #request: typeof requestHttp
  readonly #running = new Set<ClientRequest>()
  readonly #failed = new WeakMap<ClientRequest, (error: EtcdError) => void>()
  #isClosed = false

  constructor(source: EtcdSource, endpoint: string, patience: EtcdPatience) {
    const { protocol, hostname, port } = new URL(endpoint)
    this.#source = source
    this.#patience = patience
    const isSafe = protocol === 'https:'
    this.#server = { hostname: hostname.replace(/^\[|\]$/g, ''), port: port || (isSafe ? '443' : '80') }
    const { authority: ca, certificate: cert, key } = source.tls ?? {}
    const agentOptions = {
      keepAlive: true,
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key })
    }
    this.#agent = isSafe ? new HttpsAgent(agentOptions) : new HttpAgent({ keepAlive: true })
    this.#request = isSafe ? requestHttps : requestHttp
  }

  /** Asks, and gives the answer, refusals too; rejects with an {@link EtcdError}, always in time. */
  ask(method: 'GET' | 'PUT' | 'DELETE', path: string, options: AskOptions = {}): Promise<V2Answer> {
    const { withinMs = this.#patience.callMs, isLarge = false } = options
    return new Promise((resolve, reject) => {
      const request = this.#start(method, path, options.body, reject)
      if (request === undefined) return
      const late = (): void => this.#late(request, withinMs)
      const silence = setTimeout(late, withinMs)
      const whole = setTimeout(late, isLarge ? LARGE * withinMs : withinMs)
      request.once('close', () => {
        clearTimeout(silence)
        clearTimeout(whole)
      })
      request.once('response', (reply) => {
        if (isLarge) reply.on('data', () => silence.refresh())
        this.#collect(reply, request, (text) => {
          try {
            resolve(answerOf(reply, text))
          } catch (error) {
            reject(error)
          }
        })
      })
    })
  }

  /** Asks for a change that is yet to come; gives what cancels it. */
  wait(path: string, listener: WaitListener): () => void {
    let isOver = false
    const once = (tell: () => void): void => {
      if (isOver) return
      isOver = true
      tell()
    }
    const failed = (error: EtcdError): void => once(() => listener.failed(error))
    const request = this.#start('GET', path, undefined, failed)
    if (request === undefined) return () => undefined
    const { callMs } = this.#patience
    const timer = setTimeout(() => this.#late(request, callMs), callMs)
    request.once('close', () => clearTimeout(timer))
    request.once('response', (reply) => {
      clearTimeout(timer)
      const position = positionOf(reply)
      if (reply.statusCode === 200 && position !== undefined && !isOver) listener.begun(position, Date.parse(reply.headers.date ?? ''))
      this.#collect(reply, request, (text) => {
        if (reply.statusCode === 200 && text.trim() === '') return once(() => listener.empty())
        try {
          const { said } = answerOf(reply, text)
          once(() => listener.answer(said))
        } catch (error) {
          failed(error as EtcdError)
        }
      })
    })
    return () => {
      isOver = true
      request.destroy()
    }
  }

  /** Ends what is under way, and the connections. */
  close(): void {
    this.#isClosed = true
    for (const request of this.#running) this.#fail(request, closed())
    this.#agent.destroy()
  }

  #start(method: string, path: string, body: string | undefined, failed: (error: EtcdError) => void): ClientRequest | undefined {
    if (this.#isClosed) {
      queueMicrotask(() => failed(closed()))
      return undefined
    }
    const { credentials } = this.#source
    const headers: Record<string, string> = {
      ...(credentials && { authorization: `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}` }),
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(Buffer.byteLength(body)) })
    }
    try {
      const request = this.#request({ ...this.#server, method, path, headers, agent: this.#agent })
      this.#running.add(request)
      this.#failed.set(request, failed)
      request.once('close', () => this.#running.delete(request))
      request.on('error', (error) => failed(connectionError(error)))
      request.end(body)
      return request
    } catch (error) {
      // Certificates that cannot be used are told of here.
      queueMicrotask(() => failed(connectionError(error as Error)))
      return undefined
    }
  }

  #collect(reply: IncomingMessage, request: ClientRequest, done: (text: string) => void): void {
    const chunks: Buffer[] = []
    let octets = 0
    reply.on('data', (chunk: Buffer) => {
      octets += chunk.length
      chunks.push(chunk)
      if (octets > MOST_OCTETS) this.#fail(request, new EtcdError('failed', `etcd answers more than ${MOST_OCTETS / 2 ** 20} MiB`))
    })
    reply.on('error', (error) => this.#fail(request, connectionError(error, 'in an answer')))
    reply.on('end', () => done(Buffer.concat(chunks).toString('utf8')))
  }

  #late(request: ClientRequest, withinMs: number): void {
    this.#fail(request, new EtcdError('unreachable', `no answer within ${withinMs} ms`))
    // The others that nobody uses now are likely to be as dead, and would take a question each to be found so.
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }

  // Told before it is destroyed: Node has a word of its own for that, where an answer has begun.
  #fail(request: ClientRequest, error: EtcdError): void {
    this.#failed.get(request)?.(error)
    request.destroy()
  }
}

function answerOf(reply: IncomingMessage, text: string): V2Answer {
  const said = parsed(text)
  const position = positionOf(reply)
  if (position === undefined || said === undefined) throw strangeAnswer(reply.statusCode ?? 0, text)
  return { position, said }
}

function parsed(text: string): V2Event | V2Refusal | undefined {
  try {
    const said: unknown = JSON.parse(text)
    return isAnswer(said) ? said : undefined
  } catch {
    return undefined
  }
}

function isAnswer(said: unknown): said is V2Event | V2Refusal {
  if (typeof said !== 'object' || said === null) return false
  if ('errorCode' in said) return typeof said.errorCode === 'number'
  return 'action' in said && 'node' in said
}

function positionOf({ headers }: IncomingMessage): Position | undefined {
  const cluster = headers['x-etcd-cluster-id']
  const revision = headers['x-etcd-index']
  if (typeof cluster !== 'string' || typeof revision !== 'string' || !/^\d{1,15}$/.test(revision)) return undefined
  return { cluster, revision: Number(revision) }
}

/** What was answered, where it is no refusal; else throws the {@link EtcdError} that it is. */
export function accepted(said: V2Event | V2Refusal): V2Event {
  if ('errorCode' in said) throw refusalError(said)
  if (!isNode(said.node)) throw strangeNode()
  return said
}

/** The code of a refusal; undefined of what is none. */
export function codeOf(said: V2Event | V2Refusal): number | undefined {
  return 'errorCode' in said ? said.errorCode : undefined
}

function closed(): EtcdError {
  return new EtcdError('failed', 'the client is closed')
}
