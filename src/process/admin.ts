/** The calls that ask and change the running server: one table, for the control socket and for the admin HTTP end. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { resolve } from 'node:path'
import type { ProcessServices } from '../chain/scope.js'
import { ConfigError, type Place, shown } from '../corefile/directive.js'
import { shownEndpoint } from '../listen/addresses.js'
import { namedThrownText, thrownText } from '../message/one-line.js'
import type { MaybePromise } from '../plugin.js'
import { browserRefusal, type KeysGuard, tokenRefusal } from '../store/keys-guard.js'
import { explain } from './explain.js'
import { askedOf, EXPLAIN_PARAMETERS, ExplainError } from './explain-question.js'
import type { BuiltBlock } from './plan.js'
import { configurationHash, type Reloader } from './reload.js'
import type { RunningServer } from './run.js'

/** What is answered: an object that becomes JSON, and 200 where no other status is named. */
export interface AdminAnswer {
  readonly status?: number
  readonly body: object
}

/** The parameters of a call, by name. */
export type Given = ReadonlyMap<string, string>

/** A call, and what answers it. `GET` is for what changes nothing. */
export interface AdminCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The names of its parameters; it has none where left out. */
  readonly parameters?: readonly string[]
  answer(given: Given): MaybePromise<AdminAnswer>
}

/** Answers requests of node:http. */
export type AdminHandler = (request: IncomingMessage, response: ServerResponse) => void

/** The calls of a running server. A further one is a further row. */
export function adminCalls(server: RunningServer, reloader: Reloader, services: ProcessServices): readonly AdminCall[] {
  return [
    { method: 'GET', path: '/server', answer: () => ({ body: serverState(server, reloader, services) }) },
    { method: 'GET', path: '/explain', parameters: EXPLAIN_PARAMETERS, answer: (given) => explained(server, given) },
    { method: 'POST', path: '/reload', answer: () => reload(reloader) }
  ]
}

/** Answers with the calls that there are at the time; `tell` is told of faults. */
export function adminHandler(calls: () => readonly AdminCall[], guard: () => KeysGuard, tell: (problem: string) => void): AdminHandler {
  return (request, response) => {
    // No call has a body, and what is not read would hold up the next call of the connection.
    request.resume()
    respond(request, response, calls(), guard()).catch((error: unknown) => {
      tell(`${request.method} ${request.url}: ${namedThrownText(error)}`)
      if (response.headersSent) response.destroy()
      else send(request, response, { status: 500, body: { error: 'this call failed, see the log' } })
    })
  }
}

async function respond(request: IncomingMessage, response: ServerResponse, calls: readonly AdminCall[], guard: KeysGuard): Promise<void> {
  const refusal = browserRefusal(request, guard) ?? tokenRefusal(request, guard)
  if (refusal?.status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
  if (refusal !== undefined) return send(request, response, failure(refusal.status, refusal.reason))
  if (calls.length === 0) return send(request, response, failure(503, 'the server is being started'))
  const url = urlOf(request)
  const there = calls.filter(({ path }) => path === url?.pathname)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const call = there.find((each) => each.method === method)
  if (url !== undefined && call !== undefined) {
    const given = parametersOf(url, call)
    return send(request, response, typeof given === 'string' ? failure(400, given) : await call.answer(given))
  }
  if (there.length === 0)
    return send(request, response, failure(404, `there is no such call, expected ${calls.map(shownCall).join(' or ')}`))
  response.setHeader('Allow', there.flatMap((each) => (each.method === 'GET' ? ['GET', 'HEAD'] : [each.method])).join(', '))
  send(request, response, failure(405, `expected ${there.map(shownCall).join(' or ')}`))
}

/** Undefined for what no client sends. */
function urlOf({ url = '' }: IncomingMessage): URL | undefined {
  const base = 'http://server'
  return url.startsWith('/') && URL.canParse(`${base}${url}`) ? new URL(`${base}${url}`) : undefined
}

/** In words where they are not what the call takes. URLSearchParams would take what is no UTF-8 for another text than was meant. */
function parametersOf({ search }: URL, call: AdminCall): Given | string {
  const { parameters = [] } = call
  const given = new Map<string, string>()
  for (const part of search.slice(1).split('&').filter(Boolean)) {
    const [, ...words] = /^([^=]*)=?(.*)$/s.exec(part)!
    const [name, value] = words.map(decoded)
    if (name === undefined || value === undefined) return `expected percent-encoded UTF-8, not ${shown(part)}`
    if (!parameters.includes(name))
      return `${shownCall(call)}: expected ${parameters.length === 0 ? 'no parameter' : `${parameters.join(', ')} alone`}, not ${shown(name)}`
    if (given.has(name)) return `${shownCall(call)}: expected ${name} once`
    given.set(name, value)
  }
  return given
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    // It is the only thing that is thrown.
    return undefined
  }
}

function shownCall({ method, path }: AdminCall): string {
  return `${method} ${path}`
}

function failure(status: number, error: string): AdminAnswer {
  return { status, body: { error } }
}

function send(request: IncomingMessage, response: ServerResponse, { status = 200, body }: AdminAnswer): void {
  const octets = Buffer.from(`${JSON.stringify(body, undefined, 2)}\n`)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': octets.length,
    'Cache-Control': 'no-store',
    // A reload may have moved the end, and nobody calls often.
    Connection: 'close',
    'X-Content-Type-Options': 'nosniff'
  })
  response.end(request.method === 'HEAD' ? undefined : octets)
}

/** 400 where the configuration is wrong or cannot be read, 409 where the server cannot go over to it. */
async function reload(reloader: Reloader): Promise<AdminAnswer> {
  const outcome = await reloader.now()
  if (!('error' in outcome)) {
    const { old, new: now, kept, built, dropped } = outcome
    return { body: { old, new: now, kept, built, dropped } }
  }
  const { error } = outcome
  if (!(error instanceof ConfigError)) return failure(409, thrownText(error))
  return { status: 400, body: { error: error.problem, ...(error.at !== undefined && { at: shownPlace(error.at) }) } }
}

/** 400 where it cannot be asked. */
async function explained({ instance }: RunningServer, given: Given): Promise<AdminAnswer> {
  try {
    return { body: await explain(instance, askedOf(given)) }
  } catch (error) {
    if (error instanceof ExplainError) return failure(400, error.message)
    throw error
  }
}

function serverState(server: RunningServer, reloader: Reloader, { version }: ProcessServices): object {
  const { configuration, counts } = reloader
  const { instance } = server
  return {
    version,
    node: process.version,
    pid: process.pid,
    uptime: Math.floor(process.uptime()),
    configuration: {
      file: configuration.isDefault ? null : resolve(configuration.file),
      hash: configurationHash(configuration),
      files: configuration.files.map(({ path }) => resolve(path))
    },
    reloads: counts,
    ...(server.workerCount > 0 && { workers: server.workerCount }),
    blocks: instance.blocks.map((block) => blockState(block, server)),
    stores: instance.generation.stores.opened.map(({ folder, api = null }) => ({ folder, api }))
  }
}

function blockState({ block, addresses, chain }: BuiltBlock, server: RunningServer): object {
  const ports = block.keys.map(({ port = server.defaultPort }) => port)
  const endpoints = addresses.flatMap((address) => ports.map((port) => shownEndpoint(address, server.portOf(address, port))))
  return {
    keys: block.keyTexts,
    at: shownPlace(block.at),
    addresses: [...new Set(endpoints)],
    chain: chain.configured.map(({ plugin, directive: { name, at } }) => ({ name, plugin: plugin.name, at: shownPlace(at) }))
  }
}

/** As `skein check -json` has it. */
function shownPlace({ file, line, column }: Place): object {
  return { file, line, column }
}
