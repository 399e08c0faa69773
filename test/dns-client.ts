/** Clients that hand octets to a server on a real socket and hand back what comes, without reading more of it than its ID. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Where a server listens. */
export interface ServerAddress {
  readonly address: string
  readonly port: number
}

/** What to do next: send octets in hex (one datagram, one write), wait, or send a FIN and go on reading. */
export type Step = string | { readonly pauseMs: number } | { readonly halfClose: true }

/** What came back. */
export interface Outcome {
  readonly messages: readonly Buffer[]
  readonly isClosed: boolean
  /** Octets at the end of a stream that are no whole message. */
  readonly partial: number
  readonly faults: readonly string[]
}

/** The longest wait for a reply that must come, and for a close that must come. */
const REPLY_MS = 2_000
/** How long nothing must come before it counts as silence. */
const QUIET_MS = 250
/** How long after the last reply a surplus one is looked for. */
const SURPLUS_MS = 20

/** What has come so far, and a way to wait for more. */
class Inbox {
  readonly messages: Buffer[] = []
  readonly faults: string[] = []
  isClosed = false
  partial = 0
  #wake = () => {}

  changed(): void {
    this.#wake()
  }

  close(): void {
    this.isClosed = true
    this.changed()
  }

  /** Resolves at the next change, or after so long. */
  next(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Waits until nothing more can matter: all replies and no surplus, the end of the stream, or the end of patience. */
  async fill(wanted: number, patienceMs: number): Promise<void> {
    let deadline = performance.now() + patienceMs
    for (let seen = 0; !this.isClosed && performance.now() < deadline; ) {
      const { length } = this.messages
      if (wanted > 0 && length >= wanted && length !== seen) deadline = performance.now() + SURPLUS_MS
      seen = length
      await this.next(deadline - performance.now())
    }
  }

  async pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds
    while (!this.isClosed && performance.now() < until) await this.next(until - performance.now())
  }
}

/** Sends datagrams from a port of their own, then waits for so many replies and a surplus one; for 0, that nothing comes. */
export async function sendDatagrams(server: ServerAddress, steps: readonly Step[], wanted: number): Promise<Outcome> {
  const inbox = new Inbox()
  const socket = createSocket(server.address.includes(':') ? 'udp6' : 'udp4')
  socket.on('message', (octets, { address, port }) => {
    if (address !== server.address || port !== server.port) inbox.faults.push(`a reply from ${address} port ${port}, which was not asked`)
    inbox.messages.push(octets)
    inbox.changed()
  })
  // Bound to no address, so that a reply from another address than the one asked arrives, too.
  await once(socket.bind(0), 'listening')
  try {
    for (const step of steps) {
      if (typeof step === 'string') await sendDatagram(socket, server, Buffer.from(step, 'hex'))
      else if ('pauseMs' in step) await inbox.pause(step.pauseMs)
    }
    await inbox.fill(wanted, wanted > 0 ? REPLY_MS : QUIET_MS)
  } finally {
    socket.close()
  }
  return inbox
}

function sendDatagram(socket: UdpSocket, { address, port }: ServerAddress, octets: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => socket.send(octets, port, address, (error) => (error ? reject(error) : resolve())))
}

/** Opens a connection and goes through the steps; then waits as {@link sendDatagrams} does, or until the server closes. */
export async function sendStream(server: ServerAddress, steps: readonly Step[], wanted: number, mustClose: boolean): Promise<Outcome> {
  const inbox = new Inbox()
  const socket = await openStream(server)
  readStream(socket, inbox)
  try {
    for (const step of steps) {
      if (typeof step === 'string') await write(socket, Buffer.from(step, 'hex'))
      else if ('pauseMs' in step) await inbox.pause(step.pauseMs)
      else socket.end()
    }
    await inbox.fill(wanted, wanted > 0 || mustClose ? REPLY_MS : QUIET_MS)
  } finally {
    socket.destroy()
  }
  return inbox
}

async function openStream({ address, port }: ServerAddress): Promise<Socket> {
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true })
  await once(socket, 'connect', { signal: AbortSignal.timeout(REPLY_MS) })
  return socket
}

function readStream(socket: Socket, inbox: Inbox): void {
  const close = (): void => inbox.close()
  const frames = new Frames()
  socket.on('end', close).on('close', close).on('error', close)
  socket.on('data', (chunk: Buffer) => {
    inbox.messages.push(...frames.take(chunk))
    inbox.partial = frames.rest.length
    inbox.changed()
  })
}

// A server may well close before all is written; what came of it is seen by whoever reads.
function write(socket: Socket, octets: Uint8Array): Promise<void> {
  return new Promise((resolve) => socket.write(octets, () => resolve()))
}

/** Cuts a stream at its length prefixes (RFC 1035 §4.2.2). */
class Frames {
  rest: Buffer = Buffer.alloc(0)

  take(chunk: Buffer): Buffer[] {
    this.rest = Buffer.concat([this.rest, chunk])
    const whole: Buffer[] = []
    while (this.rest.length >= 2 && this.rest.length >= 2 + this.rest.readUInt16BE(0)) {
      const end = 2 + this.rest.readUInt16BE(0)
      whole.push(this.rest.subarray(2, end))
      this.rest = this.rest.subarray(end)
    }
    return whole
  }
}

/** One socket for many requests, sent at once; each of those under way has an ID of its own. */
export interface DnsClient {
  ask(request: Uint8Array): Promise<Uint8Array>
  close(): void
}

/** A client over UDP or TCP; over TCP all requests share one connection. */
export async function openClient(transport: 'udp' | 'tcp', server: ServerAddress): Promise<DnsClient> {
  const waiting = new Map<number, (reply: Uint8Array) => void>()
  const arrived = (reply: Buffer): void => waiting.get(reply.length < 2 ? -1 : reply.readUInt16BE(0))?.(reply)
  const wire = transport === 'udp' ? await openUdp(server, arrived) : await openTcp(server, arrived)
  const ask = (request: Uint8Array): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const id = (request[0]! << 8) | request[1]!
      const timer = setTimeout(() => reject(new Error(`no reply over ${transport} within ${REPLY_MS} ms`)), REPLY_MS)
      waiting.set(id, (reply) => {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(reply)
      })
      wire.send(request)
    })
  return { ask, close: () => wire.close() }
}

interface Wire {
  send(request: Uint8Array): void
  close(): void
}

async function openUdp({ address, port }: ServerAddress, arrived: (reply: Buffer) => void): Promise<Wire> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4').on('message', arrived)
  socket.connect(port, address)
  await once(socket, 'connect')
  // A server that is gone shows in the requests that nobody answers.
  socket.on('error', () => {})
  return { send: (request) => socket.send(request), close: () => socket.close() }
}

async function openTcp(server: ServerAddress, arrived: (reply: Buffer) => void): Promise<Wire> {
  const socket = await openStream(server)
  const frames = new Frames()
  socket.on('error', () => {}).on('data', (chunk: Buffer) => frames.take(chunk).forEach(arrived))
  const prefixed = (request: Uint8Array): Buffer => Buffer.concat([Uint8Array.of(request.length >> 8, request.length & 0xff), request])
  return { send: (request) => socket.write(prefixed(request)), close: () => socket.destroy() }
}
