/** How a command asks the running server of a Corefile: over its control socket. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join, resolve } from 'node:path'
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
  readonly body: unknown
}

/** A reload may take as long as plugins take to start. */
const LONGEST_MS = 60_000
/** A server has a few hundred server blocks at most. */
const LARGEST = 64 << 20

/** Asks the server that was started with the Corefile. Throws ControlError where none answers. */
export async function askServer(
  method: 'GET' | 'POST',
  path: string,
  { file = 'Corefile', around = surroundings() }: { readonly file?: string | undefined; readonly around?: Surroundings } = {}
): Promise<ControlReply> {
  const socketPath = await socketOf(file, around)
  const response = await new Promise<IncomingMessage>((done, failed) => {
    httpRequest({ socketPath, method, path, timeout: LONGEST_MS }, done)
      .once('error', (error) => failed(gone(error.message, error)))
      .once('timeout', () => failed(gone(`it has said nothing for ${LONGEST_MS / 1000} s, its log may say why`)))
      .end()
  })
  return { status: response.statusCode ?? 0, body: await bodyOf(response) }
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

async function bodyOf(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size > LARGEST) throw new Error('its answer is too long')
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    throw gone((error as Error).message, error)
  }
}

function gone(why: string, cause?: unknown): ControlError {
  return new ControlError(`the server does not answer: ${why}`, { cause })
}
