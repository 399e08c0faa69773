/** How much one listener takes on at most, and how long it waits. Times in milliseconds. */
export interface StreamLimits {
  /** Connections at once; beyond it the one that has been idle longest goes, or the new one. */
  readonly connections: number
  /** Connections at once of one client address. */
  readonly connectionsPerClient: number
  /** Queries of one connection being answered at once; beyond it nothing more is read. */
  readonly inFlight: number
  /** Octets of replies that a slow reader may leave unread; beyond it nothing more is read. */
  readonly unread: number
  /** Between two queries. */
  readonly idleMs: number
  /** From the first octet of a query to its last. */
  readonly messageMs: number
  /** For replies that are ready to be taken. */
  readonly writeMs: number
}

/** Limits as CoreDNS and RFC 7766 §6.2 suggest. */
export const STREAM_LIMITS: StreamLimits = {
  connections: 1000,
  connectionsPerClient: 200,
  inFlight: 128,
  unread: 256 * 1024,
  idleMs: 10_000,
  messageMs: 5_000,
  writeMs: 5_000
}
