import { createSocket } from 'node:dgram'
import type { Clock } from 'skein/plugin'
import { type Asking, type Exchange, exchange } from './exchange.js'

/** The servers are addresses: asking the resolver of the C library would cost a thread. */
function lookup(address: string, _options: unknown, found: (error: null, address: string, family: number) => void): void {
  found(null, address, address.includes(':') ? 6 : 4)
}

/** A question over UDP on a socket of its own: the kernel picks a port that nobody can foresee, and lets in only what comes from the server. */
export function udpExchange(asking: Asking, clock: Clock): Exchange {
  const { address, port } = asking.server
  return exchange(asking, clock, 'udp', ({ closes, take, fail }) => {
    const socket = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4', lookup: lookup as never })
    let isOver = false
    let peer: { address: string; port: number } | undefined
    closes(() => {
      isOver = true
      socket.close()
    })
    socket.on('error', fail)
    socket.on('message', (octets, from) => {
      // Between binding and connecting, the socket is open to everybody for a moment.
      if (!isOver && from.address === peer?.address && from.port === peer.port) take(octets)
    })
    socket.connect(port, address, ((error?: Error) => {
      if (isOver) return
      if (error !== undefined) return fail(error)
      peer = socket.remoteAddress()
      socket.send(asking.octets, (unsent) => {
        if (unsent !== null) fail(unsent)
      })
    }) as () => void)
  })
}
