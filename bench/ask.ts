/** A question put to a server on loopback, to see whether it answers, and what. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AskOptions, requestOctets } from '../src/testing.js'

/** How it is put. */
export interface Asking extends AskOptions {
  readonly everyMs?: number
}

/** The octets of the reply to `name TYPE` over UDP, asked again every `everyMs`; undefined where none has come by then. */
export async function ask(
  port: number,
  question: string,
  withinMs: number,
  { everyMs = 100, ...options }: Asking = {}
): Promise<Buffer | undefined> {
  const socket = createSocket('udp4')
  const request = requestOctets(question.replace(' ', '. '), options)
  // Whoever does not listen yet sends an ICMP message.
  const send = (): void => socket.send(request, port, '127.0.0.1', () => {})
  const timer = setInterval(send, everyMs)
  try {
    send()
    const [octets] = (await once(socket, 'message', { signal: AbortSignal.timeout(withinMs) })) as [Buffer]
    return octets
  } catch (error) {
    if ((error as Error).name === 'AbortError') return undefined
    throw error
  } finally {
    clearInterval(timer)
    socket.close()
  }
}

/** Waits for a server's first answer. Throws where none comes in time. */
export async function untilAnswers(port: number, question: string, withinMs: number, options: AskOptions = {}): Promise<Buffer> {
  const octets = await ask(port, question, withinMs, options)
  if (octets === undefined) throw new Error(`nothing answers ${question} on port ${port} within ${withinMs / 1000} s`)
  return octets
}
