/** Stands between validators and the server: sees every reply, and may hand out one name's reply for another's. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { freePort } from './processes.js'

/** A relay of UDP and TCP. */
export interface Tap {
  readonly port: number
  /** Changes what goes through over UDP, from now on. */
  rewrite: Rewriting | undefined
  stop(): Promise<void>
}

/** What becomes of a request on its way, and of the reply to it. */
export interface Rewriting {
  request(octets: Buffer): Buffer
  reply(octets: Buffer): Buffer
}

const LOOPBACK = '127.0.0.1'

/** Relays to a port of loopback; `seen` gets every reply as the server sent it. */
export async function startTap(to: number, seen: (reply: Buffer) => void): Promise<Tap> {
  const port = await freePort(LOOPBACK)
  const tap: Tap = { port, rewrite: undefined, stop: () => Promise.all([stopUdp(), stopTcp()]).then(() => undefined) }
  const stopUdp = await relayUdp(tap, to, seen)
  const stopTcp = await relayTcp(port, to, seen)
  return tap
}

async function relayUdp(tap: Tap, to: number, seen: (reply: Buffer) => void): Promise<() => Promise<void>> {
  const waiting = new Map<number, { readonly from: AddressInfo; readonly id: number }>()
  const [inner, outer] = [createSocket('udp4'), createSocket('udp4')]
  let next = 0
  outer.on('message', (octets, from) => {
    const request = Buffer.from(tap.rewrite?.request(octets) ?? octets)
    next = (next + 1) & 0xffff
    waiting.set(next, { from: { ...from, family: 'IPv4' }, id: request.readUInt16BE(0) })
    request.writeUInt16BE(next, 0)
    inner.send(request, to, LOOPBACK)
  })
  inner.on('message', (octets) => {
    const asked = waiting.get(octets.readUInt16BE(0))
    if (asked === undefined) return
    waiting.delete(octets.readUInt16BE(0))
    seen(octets)
    const reply = Buffer.from(tap.rewrite?.reply(octets) ?? octets)
    reply.writeUInt16BE(asked.id, 0)
    outer.send(reply, asked.from.port, asked.from.address)
  })
  // The server may be away for a moment: whoever has asked sees it in the silence.
  inner.on('error', () => {})
  await Promise.all([once(outer.bind(tap.port, LOOPBACK), 'listening'), once(inner.bind(0, LOOPBACK), 'listening')])
  return async () => {
    await Promise.all([outer, inner].map((socket) => new Promise<void>((resolve) => socket.close(resolve))))
  }
}

async function relayTcp(port: number, to: number, seen: (reply: Buffer) => void): Promise<() => Promise<void>> {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const inner = connect(to, LOOPBACK)
    for (const [one, other] of [
      [client, inner],
      [inner, client]
    ] as const) {
      open.add(one)
      one.setNoDelay(true)
      one.on('error', () => other.destroy()).on('close', () => open.delete(one))
      one.pipe(other)
    }
    eachFrame(inner, seen)
  })
  await once(server.listen(port, LOOPBACK), 'listening')
  return async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}

function eachFrame(stream: Socket, use: (octets: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (; rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0); rest = rest.subarray(2 + rest.readUInt16BE(0))) {
      use(rest.subarray(2, 2 + rest.readUInt16BE(0)))
    }
  })
}
