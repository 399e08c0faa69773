/** Servers on loopback that say what a test has them say, and messages for them to say; for tests alone. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** One question as it came. */
export interface UpstreamAsked {
  readonly octets: Buffer
  /** How many came before it, over UDP and TCP together. */
  readonly before: number
}

/** What a fake upstream does; without `tcp` nobody listens there. */
export interface UpstreamActs {
  udp?(asked: UpstreamAsked, answer: (octets: Uint8Array) => void, answerFromElsewhere: (octets: Uint8Array) => void): void
  tcp?(asked: UpstreamAsked, socket: Socket): void
}

/** An upstream in the hands of a test. */
export interface FakeUpstream {
  readonly port: number
  /** The questions so far. */
  readonly asked: { readonly octets: Buffer; readonly transport: 'udp' | 'tcp'; readonly port: number }[]
  stop(): Promise<void>
}

/** Starts one on a free port of 127.0.0.1, the same for UDP and TCP. */
export async function fakeUpstream(acts: UpstreamActs): Promise<FakeUpstream> {
  const asked: FakeUpstream['asked'] = []
  const [udp, elsewhere] = [createSocket('udp4'), createSocket('udp4')]
  const sockets = new Set<Socket>()
  const tcp = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    readQuestions(socket, (octets) => {
      asked.push({ octets, transport: 'tcp', port: socket.remotePort ?? 0 })
      acts.tcp?.({ octets, before: asked.length - 1 }, socket)
    })
  })
  udp.on('message', (octets: Buffer, from: RemoteInfo) => {
    asked.push({ octets, transport: 'udp', port: from.port })
    const sendFrom = (socket: typeof udp) => (reply: Uint8Array) => socket.send(reply, from.port, from.address)
    acts.udp?.({ octets, before: asked.length - 1 }, sendFrom(udp), sendFrom(elsewhere))
  })
  const port = await openBoth(udp, acts.tcp === undefined ? undefined : tcp)
  return {
    port,
    asked,
    async stop() {
      for (const socket of sockets) socket.destroy()
      if (tcp.listening) await new Promise((resolve) => tcp.close(resolve))
      for (const socket of [udp, elsewhere]) await new Promise<void>((resolve) => socket.close(() => resolve()))
    }
  }
}

async function openBoth(udp: ReturnType<typeof createSocket>, tcp: ReturnType<typeof createServer> | undefined): Promise<number> {
  // A port that is free on TCP is mostly free on UDP, but no one says so.
  if (tcp !== undefined) {
    tcp.listen(0, '127.0.0.1')
    await once(tcp, 'listening')
  }
  const { port } = (tcp?.address() ?? { port: 0 }) as { port: number }
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  return udp.address().port
}

function readQuestions(socket: Socket, take: (octets: Buffer) => void): void {
  let pending: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0)
      take(pending.subarray(2, end))
      pending = pending.subarray(end)
    }
  })
}

/** How a reply differs from a plain one. */
export interface ReplyOptions {
  /** The header's second word; QR, RD and RA where left out. */
  readonly flags?: number
  readonly id?: number
  /** The question section; as asked where left out. */
  readonly question?: Uint8Array
  /** The records of the answer section; an address where left out. */
  readonly answer?: readonly Uint8Array[]
  /** Those of the additional section. */
  readonly additional?: readonly Uint8Array[]
}

/** A reply to these octets. */
export function replyTo(octets: Buffer, options: ReplyOptions = {}): Buffer {
  const {
    flags = 0x8180,
    id = octets.readUInt16BE(0),
    question = questionOf(octets),
    answer = [addressRecord('192.0.2.1')],
    additional = []
  } = options
  const header = Buffer.alloc(12)
  for (const [index, word] of [id, flags, question.length > 0 ? 1 : 0, answer.length, 0, additional.length].entries())
    header.writeUInt16BE(word, index * 2)
  return Buffer.concat([header, question, ...answer, ...additional])
}

/** An A record of the name asked for. */
export function addressRecord(ipv4: string, ttl = 300): Buffer {
  return recordOctets(1, Uint8Array.from(ipv4.split('.').map(Number)), ttl)
}

/** A record of the name asked for. */
export function recordOctets(type: number, rdata: Uint8Array, ttl = 300): Buffer {
  const fixed = Buffer.from([0xc0, 0x0c, type >> 8, type & 0xff, 0, 1, 0, 0, ttl >> 8, ttl & 0xff, rdata.length >> 8, rdata.length & 0xff])
  return Buffer.concat([fixed, rdata])
}

/** The octets of a question section. */
export function questionOctets(name: string, type = 1, klass = 1): Buffer {
  const labels = name.split('.').filter((label) => label !== '')
  const octets = labels.flatMap((label) => [label.length, ...Buffer.from(label)])
  return Buffer.from([...octets, 0, type >> 8, type & 0xff, klass >> 8, klass & 0xff])
}

/** A message with its length before it, as it goes over TCP. */
export function prefixed(octets: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(octets.length >> 8, octets.length & 0xff), octets])
}

function questionOf(octets: Buffer): Buffer {
  let at = 12
  while (octets[at] !== 0) at += octets[at]! + 1
  return octets.subarray(12, at + 5)
}
