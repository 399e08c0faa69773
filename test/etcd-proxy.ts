import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './processes.js'

/** A TCP proxy on 127.0.0.1 before a port of 127.0.0.1, that does to connections what a bad network does. */
export interface EtcdProxy {
  readonly port: number
  /** Connections that there are now. */
  connections(): number
  /** All goes through, as at first; what was held by `hang` too. */
  pass(): Promise<void>
  /** Ends the connections that there are; new ones pass. */
  cut(): void
  /** Keeps connections, and takes new ones, but forwards nothing in either direction. */
  hang(): void
  /** Keeps those connections alone, and forwards nothing on them, on which the client has last sent something that matches. */
  hangWhere(sent: RegExp): void
  /** Ends the connections that there are, and does not listen any more. */
  refuse(): Promise<void>
  /** Lets so many octets come from the server, all connections together, and then cuts or hangs; resolves when it has. */
  after(octets: number, what: 'cut' | 'hang'): Promise<void>
  stop(): Promise<void>
}

interface Pair {
  readonly client: Socket
  server: Socket | undefined
  /** What the client has sent last. */
  sent: string
}

/** Starts a proxy before the port. */
export async function etcdProxy(target: number): Promise<EtcdProxy> {
  const pairs = new Set<Pair>()
  const port = await freePort()
  let isHung = false
  let left = Infinity
  let spent = (): void => undefined

  const listener = createServer({ allowHalfOpen: false }, (client) => {
    const pair: Pair = { client, server: undefined, sent: '' }
    pairs.add(pair)
    tie(pair, client)
    if (isHung) client.pause()
    else forward(pair)
  })

  const forward = (pair: Pair): void => {
    const server = connect(target, '127.0.0.1')
    pair.server = server
    tie(pair, server)
    pair.client.on('data', (chunk: Buffer) => {
      pair.sent = chunk.toString('latin1')
      server.write(chunk)
    })
    server.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, left)
      left -= part.length
      pair.client.write(part)
      if (left > 0) return
      spent()
      // Held with the rest of the connection: what is passed later is whole.
      if (part.length < chunk.length && !server.destroyed) server.unshift(chunk.subarray(part.length))
    })
  }

  const tie = (pair: Pair, socket: Socket): void => {
    socket.on('error', () => undefined)
    socket.on('close', () => drop(pair))
  }

  const drop = (pair: Pair): void => {
    // What was passed to it is still sent.
    pair.client.destroySoon()
    pair.server?.destroy()
    pairs.delete(pair)
  }

  const proxy: EtcdProxy = {
    port,
    connections: () => pairs.size,
    async pass() {
      isHung = false
      left = Infinity
      for (const pair of pairs) {
        if (pair.server === undefined) forward(pair)
        pair.client.resume()
        pair.server?.resume()
      }
      if (!listener.listening) await listen(listener, port)
    },
    cut() {
      for (const pair of pairs) drop(pair)
    },
    hang() {
      isHung = true
      proxy.hangWhere(/^/)
    },
    hangWhere(sent) {
      for (const pair of pairs) {
        if (!sent.test(pair.sent)) continue
        pair.client.pause()
        pair.server?.pause()
      }
    },
    async refuse() {
      const closed = close(listener)
      proxy.cut()
      await closed
    },
    after(octets, what) {
      left = octets
      return new Promise((resolve) => {
        spent = () => {
          left = Infinity
          proxy[what]()
          resolve()
        }
      })
    },
    stop: () => proxy.refuse()
  }
  await listen(listener, port)
  return proxy
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  await once(server, 'close')
}
