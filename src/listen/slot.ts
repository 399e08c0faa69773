import { isHeld } from '../http/held.js'
import { listenProblem } from '../message/listen-problem.js'
import { type Client, shownAddress } from '../query.js'
import type { Outgoing } from '../reply/finish.js'

/**
 * One request, and where its reply goes. Exactly one of `send` and `drop` is called, once, then or later.
 *
 * Octets and client belong to whoever drives the socket, and are another request's once the handler has returned. They stay where the
 * slot is still to be answered then, and where `keep` was called before: `octets` may be other memory from then on, with the same in it, so
 * what was cut out of it before is not to be read any more; `client` is the same object.
 */
export interface Slot extends Outgoing {
  /** They begin with the request. */
  readonly octets: Uint8Array
  /** How many of the octets are the request. */
  readonly length: number
  readonly client: Client
  /** Has octets and client stay as they are as long as somebody refers to the slot. */
  keep(): void
  /** Whether that was called. */
  readonly isKept: boolean
}

/** Takes requests as they come. Never throws. */
export type Receive = (slot: Slot) => void

/** Something that listens on one address. */
export interface Listener {
  readonly address: string
  readonly port: number
  readonly transport: Client['transport']
  /** The socket's number, as long as it is open, where that is known: a copy of it goes on when the listener is closed. */
  readonly descriptor?: number | undefined
  /** Gives what comes from now on to somebody else; `endpoint` is the address in the configuration that it is for. */
  serve(receive: Receive, endpoint: string): void
  /** Stops taking requests; resolves when what was in flight is answered, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** The sockets of one address and port. */
export type Both = readonly [udp: Listener, tcp: Listener]

/** An address to listen on with UDP and TCP. `0.0.0.0` and `::` stand for every local address of their family. */
export interface Endpoint {
  readonly address: string
  /** 0 takes a free port, the same for UDP and TCP. */
  readonly port: number
  readonly receive: Receive
}

/** A socket that is bound, by its descriptor. */
export interface BoundSocket {
  readonly fd: number
  /** Whether the listener closes it; otherwise somebody else does, after the listener. */
  readonly isOwn: boolean
}

/** What listeners count, for metrics. */
export interface ListenerCounters {
  received: number
  unsent: number
  refusedConnections: number
}

/** A port cannot be opened. The message is one line for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code = 'SKEIN_LISTEN'
  /** The system's code for it, such as EADDRINUSE. */
  readonly reason: string | undefined

  constructor(address: string, port: number, transport: string, cause: NodeJS.ErrnoException) {
    const isOurs = transport === 'tcp' && isHeld(address, port)
    super(`cannot listen on ${shownAddress(address, port)} (${transport}): ${problemOf(cause, isOurs)}`, { cause })
    this.reason = cause.code
  }
}

function problemOf(cause: NodeJS.ErrnoException, isOurs: boolean): string {
  if (cause.code === 'EADDRINUSE' && isOurs) return 'this server itself has the port for something else: have it reload without that first'
  return `${listenProblem(cause)}${cause.code === 'EACCES' ? ', or choose another port' : ''}`
}
