import type { Listener, ListenerCounters, Receive } from '../slot.js'
import { BatchListener, type Shared } from './batch-listener.js'
import { Incoming } from './incoming.js'
import { type Libc, loadLibc } from './libc.js'
import { OutgoingBuffers } from './outgoing.js'
import type { PortSharing } from './socket.js'

/** Listens for datagrams on one address. Port 0 takes a free one. */
export type OpenBatch = (
  address: string,
  port: number,
  receive: Receive,
  counters: ListenerCounters,
  endpointAddress?: string,
  sharing?: PortSharing
) => Promise<Listener>

let loaded: Promise<OpenBatch> | undefined

/** What opens sockets that move datagrams in batches, once for each thread. Throws an Error that says in one line why there is none. */
export function loadBatch(): Promise<OpenBatch> {
  loaded ??= loadLibc().then((libc) => openWith(libc))
  return loaded
}

/** The same over these calls, with memory of its own. */
export function openWith(libc: Libc): OpenBatch {
  const shared: Shared = { libc, incoming: new Incoming(libc), buffers: new OutgoingBuffers(libc) }
  return async (address, port, receive, counters, endpointAddress = address, sharing) =>
    new BatchListener(shared, address, port, receive, counters, endpointAddress, sharing)
}
