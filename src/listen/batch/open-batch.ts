import { isMainThread } from 'node:worker_threads'
import type { Listener, ListenerCounters, Receive } from '../slot.js'
import { BatchListener, type Shared, type SocketFrom } from './batch-listener.js'
import { Incoming } from './incoming.js'
import { type Libc, loadLibc } from './libc.js'
import { OutgoingBuffers } from './outgoing.js'

/** Listens for datagrams on one address. Port 0 takes a free one. */
export type OpenBatch = (
  address: string,
  port: number,
  receive: Receive,
  counters: ListenerCounters,
  endpointAddress?: string,
  from?: SocketFrom
) => Promise<Listener>

let loaded: Promise<OpenBatch> | undefined
let loadedLibc: Promise<Libc> | undefined

/** What opens sockets that move datagrams in batches, once for each thread. Throws an Error that says in one line why there is none. */
export function loadBatch(): Promise<OpenBatch> {
  loaded ??= theLibc().then((libc) => openWith(libc))
  return loaded
}

/** The calls that sockets are driven with, once for each thread. Throws an Error that says in one line why there are none. */
export function theLibc(): Promise<Libc> {
  loadedLibc ??= loadLibc()
  return loadedLibc
}

/** The same where there are any. */
export function theLibcOrNone(): Promise<Libc | undefined> {
  return theLibc().catch(() => undefined)
}

/** The same over these calls, with memory of its own. */
export function openWith(libc: Libc): OpenBatch {
  let incomingOfWildcards: Incoming | undefined
  const shared: Shared = {
    libc,
    incoming: new Incoming(libc),
    // Few servers have such a socket.
    get incomingOfWildcards() {
      incomingOfWildcards ??= new Incoming(libc, true)
      return incomingOfWildcards
    },
    buffers: new OutgoingBuffers(libc),
    descriptors: new Set(),
    watches: new Set()
  }
  // Of a worker that has ended the kernel would go on to give its sockets their share of the queries. One that is terminated, or out of
  // memory, comes by here no more: whoever terminates it takes its sockets away before.
  if (!isMainThread)
    process.once('exit', () => {
      // Called in a thread that can run nothing any more, koffi would end the process.
      for (const watch of shared.watches) watch.close()
      for (const fd of shared.descriptors) libc.close(fd)
    })
  return async (address, port, receive, counters, endpointAddress = address, from) =>
    new BatchListener(shared, address, port, receive, counters, endpointAddress, from)
}
