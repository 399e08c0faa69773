import type { IncomingMessage, ServerResponse } from 'node:http'
import { find, type KeysEvent, put, remove } from './keys-actions.js'
import { readForm } from './keys-body.js'
import { KeysError } from './keys-error.js'
import { browserRefusal, type KeysGuard, type Refusal, tokenRefusal } from './keys-guard.js'
import { isFile, type KeysNode, listing, nodeOf } from './keys-node.js'
import { keyOfUrlPath, readKeysRequest } from './keys-request.js'
import type { LockedStore } from './locked.js'
import { StoreError, waitingText } from './store.js'

/** How the keys API is served. */
export interface KeysOptions extends KeysGuard {
  /** False for a replica: its writes belong to the etcd that feeds it. */
  readonly writable: boolean
  readonly bodyTimeoutMs?: number
}

/** What answers a request of node:http. */
export type KeysHandler = (request: IncomingMessage, response: ServerResponse) => void

interface Answer {
  readonly status: number
  readonly body: object
  readonly index?: number
  readonly headers?: Record<string, string>
}

const PREFIX = '/v2/keys'
const BODY_TIMEOUT_MS = 10_000

// Every client of etcd shows it, none compares it; one store is a cluster of its own.
const CLUSTER_ID = '736b65696e000001'

/**
 * The keys API of etcd v2 over a store, as SkyDNS's documentation uses it. It knows keys as they are spelled; look-ups
 * of names, which ignore case, are not its business.
 */
export function keysApi(store: LockedStore, options: KeysOptions): KeysHandler {
  return (request, response) => {
    answer(store, options, request)
      .catch((error: unknown) => failure(error))
      .then((given) => send(store, request, response, given))
      .catch((error: unknown) => response.destroy(error as Error))
  }
}

async function answer(store: LockedStore, options: KeysOptions, request: IncomingMessage): Promise<Answer> {
  const url = request.url ?? ''
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const foreign = browserRefusal(request, options)
  if (foreign !== undefined) return refused(foreign)
  if (path === '/health') return { status: 200, body: { health: 'true' } }
  const stranger = tokenRefusal(request, options)
  if (stranger !== undefined) return refused(stranger)
  // Clients ask it to learn which API they meet.
  if (path === '/version') return { status: 200, body: { etcdserver: '3.4.23', etcdcluster: '3.4.0' } }
  if (path !== PREFIX && !path.startsWith(`${PREFIX}/`))
    return { status: 404, body: { message: `nothing is at ${path}: keys are below ${PREFIX}/` } }
  return answerKeys(store, options, request, path.slice(PREFIX.length), at < 0 ? '' : url.slice(at + 1))
}

async function answerKeys(
  store: LockedStore,
  options: KeysOptions,
  request: IncomingMessage,
  path: string,
  query: string
): Promise<Answer> {
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '')
  if (!['GET', 'PUT', 'POST', 'DELETE'].includes(method))
    return { status: 405, body: { message: 'Method Not Allowed' }, headers: { Allow: 'HEAD,GET,PUT,POST,DELETE' } }
  const key = keyOfUrlPath(path)
  // As etcd has it: only PUT and POST have a form in their body.
  const body = method === 'PUT' || method === 'POST' ? await readForm(request, options.bodyTimeoutMs ?? BODY_TIMEOUT_MS) : ''
  const asked = readKeysRequest(method, key, query, body)
  if (store.feed?.state === 'waiting') return { status: 503, body: { message: waitingText(store.feed) } }
  if (method === 'GET') return get(store, key, asked.recursive)
  if (!options.writable) return refused({ status: 403, reason: 'this store is a replica and read-only: write to the etcd that feeds it' })
  const act = method === 'PUT' ? put : remove
  const event = await store.transact((draft) => act(draft, asked, store.clock.now()))
  return eventAnswer(event)
}

async function get(store: LockedStore, key: ReturnType<typeof keyOfUrlPath>, recursive: boolean): Promise<Answer> {
  const index = store.revision
  const now = store.clock.now()
  const found = find(store.exact, key)
  const node: KeysNode = isFile(found) ? nodeOf(found, now) : await listing(store.exact, found, recursive, now)
  return { status: 200, body: { action: 'get', node }, index }
}

function eventAnswer({ action, node, prevNode, index, isCreated }: KeysEvent): Answer {
  const body = { action, ...(node && { node }), ...(prevNode && { prevNode }) }
  return { status: isCreated ? 201 : 200, body, index }
}

function refused({ status, reason }: Refusal): Answer {
  const headers: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  return { status, body: { errorCode: 110, message: 'The request requires user authentication', cause: reason }, headers }
}

function failure(error: unknown): Answer {
  const told = error instanceof KeysError ? error : new KeysError(300, error instanceof StoreError ? error.message : String(error))
  const headers: Record<string, string> = told.status === 408 || told.status === 413 ? { Connection: 'close' } : {}
  const body = { errorCode: told.errorCode, message: told.message, ...(told.detail !== '' && { cause: told.detail }) }
  // As etcd has it: what is wrong before a key is looked at happened at no index.
  return told.errorCode >= 200 && told.errorCode < 300
    ? { status: told.status, body, headers, index: 0 }
    : { status: told.status, body, headers }
}

function send(store: LockedStore, request: IncomingMessage, response: ServerResponse, given: Answer): void {
  const index = given.index ?? store.revision
  const body = 'errorCode' in given.body ? { ...given.body, index } : given.body
  const text = Buffer.from(`${JSON.stringify(body)}\n`)
  response.writeHead(given.status, {
    'Content-Type': 'application/json',
    'Content-Length': text.length,
    // A browser must not take what is stored for a page.
    'X-Content-Type-Options': 'nosniff',
    'X-Etcd-Cluster-Id': CLUSTER_ID,
    'X-Etcd-Index': String(index),
    'X-Raft-Index': String(index),
    'X-Raft-Term': '1',
    ...given.headers
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}
