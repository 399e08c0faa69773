import { isHeld } from '../http/held.js'
import { type Client, shownAddress } from '../query.js'
import type { Outgoing } from '../reply/finish.js'

/**
 * One request, and where its reply goes. Whoever drives the socket owns `octets` only until the handler has returned, unless the
 * handler then still has the slot to answer: a driver must not use them again before `send` or `drop`.
 * Exactly one of `send` and `drop` is called, once, then or later.
 */
export interface Slot extends Outgoing {
  readonly client: Client
}

/** Takes requests as they come. Never throws. */
export type Receive = (slot: Slot) => void

/** Something that listens on one address. */
export interface Listener {
  readonly address: string
  readonly port: number
  readonly transport: Client['transport']
  /** Gives what comes from now on to somebody else; `endpoint` is the address in the configuration that it is for. */
  serve(receive: Receive, endpoint: string): void
  /** Stops taking requests; resolves when what was in flight is answered, or after `graceMs`. */
  close(graceMs: number): Promise<void>
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
    super(
      `cannot listen on ${shownAddress(address, port)} (${transport}): ${reasonOf(cause, transport === 'tcp' && isHeld(address, port))}`,
      { cause }
    )
    this.reason = cause.code
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException, isOurs: boolean): string {
  if (code === 'EADDRINUSE')
    return isOurs
      ? 'this server itself has the port for something else: have it reload without that first'
      : 'the port is in use by another program'
  if (code === 'EACCES') return 'no permission: ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another with -dns.port'
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address'
  return message
}
