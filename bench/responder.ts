/** Where there is no compiler for the floor: an upstream that answers every question with one address. `node responder.js PORT` */
import { createSocket } from 'node:dgram'

const TAIL = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 10, 4, 0, 1])
const HEADER = Buffer.from([0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])

const lookup = (host: string, _options: unknown, found: (error: null, address: string, family: number) => void): void =>
  found(null, host, 4)
const socket = createSocket({ type: 'udp4', lookup: lookup as never })
socket.on('message', (query, from) => {
  let end = 12
  while (end < query.length && query[end] !== 0) end += query[end]! + 1
  const reply = Buffer.concat([query.subarray(0, end + 5), TAIL])
  HEADER.copy(reply, 2)
  socket.send(reply, from.port, from.address)
})
socket.bind(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'))
