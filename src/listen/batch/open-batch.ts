import { isMainThread } from 'node:worker_threads'
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
  const shared: Shared = { libc, incoming: new Incoming(libc), buffers: new OutgoingBuffers(libc), descriptors: new Set() }
  // Of a worker that has ended the kernel would go on to give its sockets their share of the queries. One that is terminated, or out of
  // memory, comes by here no more: whoever terminates it closes its listeners before.
  if (!isMainThread)
    process.once('exit', () => {
      for (const fd of shared.descriptors) libc.close(fd)
    })
  return async (address, port, receive, counters, endpointAddress = address, sharing) =>
    new BatchListener(shared, address, port, receive, counters, endpointAddress, sharing)
}
