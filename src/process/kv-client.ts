/** Asks the running server of a store, at the control socket in the store's folder. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { controlPath } from '../store/lock.js'
import { StoreError } from '../store/store.js'
import type { KvArguments, Verb } from './kv-verbs.js'

/** What is asked. */
export interface StoreCall {
  readonly verb: Verb
  readonly asked: KvArguments
  readonly input: AsyncIterable<Buffer>
  /** How long the server may be silent; without end where left out. */
  readonly silentMs?: number
}

/** Has a verb done; `take` reads what it prints. Throws StoreError with what the server says where it cannot. */
export function askStore<T>(folder: string, call: StoreCall, take: (printed: IncomingMessage) => Promise<T>): Promise<T> {
  const { verb, asked, input, silentMs = 0 } = call
  return new Promise((done, failed) => {
    const path = `/kv/${verb}?arguments=${encodeURIComponent(JSON.stringify(asked))}`
    const lost = ({ message }: Error): StoreError => new StoreError(`the server of ${folder} does not answer: ${message}`)
    let answered = false
    const request = httpRequest({ socketPath: controlPath(folder), method: 'POST', path, timeout: silentMs }, (response) => {
      answered = true
      const receive = async (): Promise<T> => {
        if (response.statusCode === 200) return take(response)
        throw new StoreError((await octetsOf(response)).toString('utf8'))
      }
      // It may end amid its answer.
      receive().then(done, (error: Error) => failed(error === response.errored ? lost(error) : error))
    })
    request.on('timeout', () => request.destroy(new Error(`nothing within ${silentMs} ms`)))
    request.on('error', (error) => failed(lost(error)))
    // A server that refuses early stops reading: what it says counts then.
    pipeline(input, request).catch((error: Error) => answered || failed(error))
  })
}

/** All of it. */
export async function octetsOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
