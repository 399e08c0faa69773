/** Servers on loopback that say what a test has them say; used by this folder's tests alone. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** What a fake server does with a question; `before` counts those before it. Without `tcp` nobody listens there. */
export interface Acts {
  udp(octets: Buffer, answer: (octets: Uint8Array) => void, before: number): void
  tcp?(octets: Buffer, socket: Socket): void
}

/** A server in the hands of a test. */
export interface FakeServer {
  readonly port: number
  /** The questions so far. */
  readonly asked: { readonly octets: Buffer; readonly transport: 'udp' | 'tcp'; readonly port: number }[]
  stop(): Promise<void>
}

/** Starts one on a free port of 127.0.0.1, the same for UDP and TCP. */
export async function fakeServer(acts: Acts): Promise<FakeServer> {
  const asked: FakeServer['asked'] = []
  const sockets = new Set<Socket>()
  const udp = createSocket('udp4')
  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    // A question is one write: it comes in one piece on loopback.
    socket.on('data', (piece: Buffer) => {
      asked.push({ octets: piece.subarray(2), transport: 'tcp', port: socket.remotePort ?? 0 })
      acts.tcp?.(piece.subarray(2), socket)
    })
  })
  udp.on('message', (octets: Buffer, from) => {
    asked.push({ octets, transport: 'udp', port: from.port })
    acts.udp(octets, (reply) => udp.send(reply, from.port, from.address), asked.length - 1)
  })
  if (acts.tcp !== undefined) await once(tcp.listen(0, '127.0.0.1'), 'listening')
  const port = acts.tcp === undefined ? 0 : (tcp.address() as { port: number }).port
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  return {
    port: udp.address().port,
    asked,
    async stop() {
      for (const socket of sockets) socket.destroy()
      if (tcp.listening) await new Promise((resolve) => tcp.close(resolve))
      await new Promise<void>((resolve) => udp.close(() => resolve()))
    }
  }
}

/** A reply with one address, of the name asked for; or with none. */
export function replyTo(octets: Buffer, address: string | undefined, flags = 0x8180, id = octets.readUInt16BE(0)): Buffer {
  let end = 12
  while (octets[end] !== 0) end += octets[end]! + 1
  const header = Buffer.alloc(12)
  for (const [index, word] of [id, flags, 1, address === undefined ? 0 : 1].entries()) header.writeUInt16BE(word, index * 2)
  const fixed = Uint8Array.of(0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
  const answer = address === undefined ? [] : [fixed, Uint8Array.from(address.split('.').map(Number))]
  return Buffer.concat([header, octets.subarray(12, end + 5), ...answer])
}

/** A message with its length before it, as it goes over TCP. */
export function prefixed(octets: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(octets.length >> 8, octets.length & 0xff), octets])
}
