/** How a command asks the running server of a Corefile: over its control socket. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join, resolve } from 'node:path'
import { thrownText } from '../message/one-line.js'
import { isAnswered } from '../store/unix-socket.js'
import { runtimeFolder, runtimeFolders, type Surroundings, socketName, surroundings } from './runtime-folder.js'

/** No server can be asked, or what it says is no answer. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
  readonly code = 'SKEIN_CONTROL'
}

/** No server runs with the Corefile, or none that this user may ask. */
export class NoServerError extends ControlError {}

/** What a server says. */
export interface ControlReply {
  readonly status: number
  readonly body: object
}

/** Which server is asked. */
export interface AskOptions {
  /** The Corefile that it was started with. */
  readonly file?: string | undefined
  readonly around?: Surroundings
  readonly longestMs?: number
}

/** A reload may take as long as plugins take to start. */
const LONGEST_MS = 60_000
/** A server has a few hundred server blocks at most. */
const LARGEST = 64 << 20

/** Asks the server that was started with the Corefile. Throws ControlError where none answers, or what comes is no answer. */
export async function askServer(
  method: 'GET' | 'POST',
  path: string,
  { file = 'Corefile', around = surroundings(), longestMs = LONGEST_MS }: AskOptions = {}
): Promise<ControlReply> {
  const socketPath = await socketOf(file, around)
  // One limit for all of it: what comes an octet at a time comes for ever.
  const signal = AbortSignal.timeout(longestMs)
  try {
    const response = await new Promise<IncomingMessage>((done, failed) => {
      httpRequest({ socketPath, method, path, signal }, done).once('error', failed).end()
    })
    return { status: response.statusCode ?? 0, body: await bodyOf(response) }
  } catch (error) {
    if (signal.aborted) throw gone(`it has not answered within ${longestMs / 1000} s, its log may say why`)
    throw gone(thrownText(error))
  }
}

async function socketOf(file: string, around: Surroundings): Promise<string> {
  const name = nameOf(file)
  for (const folder of runtimeFolders(around)) {
    const path = join(folder, name)
    if (await isAnswered(path).catch(() => false)) return path
  }
  const folders = [...new Set([runtimeFolder(around), ...runtimeFolders(around)])].join(', ')
  throw new NoServerError(`no server runs with ${resolve(file)} that this user may ask: its control socket is not in ${folders}`)
}

function nameOf(file: string): string {
  try {
    return socketName(file)
  } catch (error) {
    throw new NoServerError(`no server runs with ${resolve(file)}: there is no such folder`, { cause: error })
  }
}

/** Another program may listen there, or a server of another version. */
async function bodyOf(response: IncomingMessage): Promise<object> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size > LARGEST) throw new Error('what it says is too long')
  }
  const body = readJson(Buffer.concat(chunks).toString('utf8'))
  const isAnswer = typeof body === 'object' && body !== null && (response.statusCode === 200 || 'error' in body)
  if (!isAnswer) throw new Error(`what it says with status ${response.statusCode} is no answer of this version`)
  return body
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What it is instead nobody can use.
    return undefined
  }
}

/** For an answer that lacks what this version says. */
export function otherVersion(): ControlError {
  return gone('what it says is no answer of this version')
}

function gone(why: string): ControlError {
  return new ControlError(`the server does not answer: ${why}`)
}
