import { connect } from 'node:net'
import type { Clock } from 'skein/plugin'
import { type Asking, type Exchange, exchange } from './exchange.js'

const PREFIX_OCTETS = 2

/** A question over TCP on a connection of its own (RFC 7766). */
export function tcpExchange(asking: Asking, clock: Clock): Exchange {
  const { server, octets } = asking
  return exchange(asking, clock, 'tcp', ({ closes, take, fail }) => {
    const socket = connect({ host: server.address, port: server.port, noDelay: true })
    closes(() => socket.destroy())
    const pieces: Buffer[] = []
    let length = 0
    let needed = Number.POSITIVE_INFINITY
    socket.on('error', fail)
    socket.on('close', () => fail('EOF'))
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      length += piece.length
      if (length < PREFIX_OCTETS) return
      if (needed === Number.POSITIVE_INFINITY) needed = PREFIX_OCTETS + Buffer.concat(pieces, PREFIX_OCTETS).readUInt16BE(0)
      // The connection is ours alone: nothing else may come on it.
      if (length >= needed && !take(Buffer.concat(pieces, length).subarray(PREFIX_OCTETS, needed))) fail('a reply to another question')
    })
    // One write, so that the prefix does not travel alone (RFC 7766 §8).
    socket.write(Buffer.concat([Uint8Array.of(octets.length >> 8, octets.length & 0xff), octets]))
  })
}
