/** Clients that ask at a steady rate whatever comes back, and know what they had asked when. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { readAnswer, requestOctets } from '../src/testing.js'

/** How often each client asks, and how much at once. */
const EVERY_MS = 2
const AT_ONCE = 2

/** One client's questions and replies, in the order in which they went out. */
export class SteadyClient {
  /** Rcodes by number of the question; undefined where no reply has come. */
  readonly rcodes: (string | undefined)[] = []
  /** What went wrong with the socket. */
  readonly faults: string[] = []
  /** Whether the server has closed its half of the stream. */
  hasEnded = false
  readonly #question: string
  readonly #send: (octets: Uint8Array) => void
  readonly #close: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(question: string, send: (octets: Uint8Array) => void, close: () => void) {
    this.#question = question
    this.#send = send
    this.#close = close
  }

  start(): void {
    this.#timer = setInterval(() => {
      for (let i = 0; i < AT_ONCE; i++) this.#send(requestOctets(this.#question, { id: this.rcodes.push(undefined) - 1 }))
    }, EVERY_MS)
  }

  /** Asks nothing more. */
  pause(): void {
    clearInterval(this.#timer)
  }

  close(): void {
    this.pause()
    this.#close()
  }

  answered(octets: Buffer): void {
    this.rcodes[octets.readUInt16BE(0)] = readAnswer(octets).rcode
  }
}

/** Asks over UDP from a socket of its own. */
export async function steadyDatagrams(port: number, question: string): Promise<SteadyClient> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1024 * 1024 })
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const client = new SteadyClient(
    question,
    (octets) => socket.send(octets),
    () => socket.close()
  )
  socket.on('message', (octets) => client.answered(octets))
  // What is sent when the server has gone comes back as an error, and is nothing that was read.
  socket.on('error', () => {})
  return client
}

/** Asks over one connection, without waiting for replies. Asks no more once the server has closed its half. */
export async function steadyStream(port: number, question: string): Promise<SteadyClient> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  await once(socket, 'connect')
  const send = (octets: Uint8Array): void => {
    socket.write(Buffer.concat([Buffer.from([octets.length >> 8, octets.length & 0xff]), octets]))
  }
  const client = new SteadyClient(question, send, () => socket.destroy())
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      const end = 2 + rest.readUInt16BE(0)
      client.answered(rest.subarray(2, end))
      rest = rest.subarray(end)
    }
  })
  socket.on('end', () => {
    client.hasEnded = true
    client.pause()
    socket.end()
  })
  socket.on('error', (error) => client.faults.push(error.message))
  return client
}
