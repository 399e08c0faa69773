import type { Socket } from 'node:net'
import type { Client } from '../query.js'
import type { StreamLimits } from './limits.js'
import type { Receive, Slot } from './slot.js'

const PREFIX_OCTETS = 2
const HEADER_OCTETS = 12
const NOTHING = Buffer.alloc(0)
/** A reply is written here and copied at once: nothing waits in between. */
const outgoing = Buffer.allocUnsafeSlow(65535)

/**
 * One stream of queries with a length prefix each (RFC 1035 §4.2.2), answered as replies come, in any order (RFC 7766 §6.2.1.1).
 * A client that has closed its half still gets its replies.
 */
export class Connection {
  readonly client: Client
  readonly #socket: Socket
  readonly #receive: Receive
  readonly #limits: StreamLimits
  /** What has come and was not taken yet. */
  #pending: Buffer = NOTHING
  #inFlight = 0
  /** The client will send nothing more. */
  #isHalfClosed = false
  /** Nothing more is read. */
  #isDraining = false
  /** Nothing more is taken. */
  #isEnding = false
  #isTurnComing = false
  #messageTimer: NodeJS.Timeout | undefined
  #writeTimer: NodeJS.Timeout | undefined
  #endTimer: NodeJS.Timeout | undefined

  constructor(socket: Socket, client: Client, receive: Receive, limits: StreamLimits, closed: () => void) {
    this.#socket = socket
    this.client = client
    this.#receive = receive
    this.#limits = limits
    socket.setTimeout(limits.idleMs)
    socket.on('timeout', () => this.#quiet())
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('end', () => {
      this.#isHalfClosed = true
      this.#take()
    })
    socket.on('drain', () => this.#drained())
    // A reset by the client is no fault of ours; `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(this.#messageTimer)
      clearTimeout(this.#writeTimer)
      clearTimeout(this.#endTimer)
      closed()
    })
  }

  /** Whether nothing of it is being read or answered. */
  get isIdle(): boolean {
    return this.#inFlight === 0 && this.#pending.length === 0
  }

  /** Reads nothing more, answers the whole queries that are here, then closes. */
  drain(): void {
    if (this.#isEnding) return
    this.#isDraining = true
    this.#socket.pause()
    this.#take()
  }

  /** Takes no more queries, answers what is in flight, then closes. */
  finish(): void {
    this.#isEnding = true
    this.#pending = NOTHING
    this.#stopMessageTimer()
    if (this.#inFlight > 0) return
    // What is written goes out first; a client that does not take it, or does not close in turn, is not waited for.
    this.#socket.end()
    this.#endTimer ??= setTimeout(() => this.destroy(), this.#limits.writeMs)
    // Unread octets would make the kernel answer the client with a reset that destroys our replies.
    this.#socket.resume()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #quiet(): void {
    if (this.#inFlight === 0) return this.destroy()
    // It comes once after whatever happens on the socket, and a query may be dropped without a trace there.
    this.#socket.setTimeout(this.#limits.idleMs)
  }

  #read(chunk: Buffer): void {
    if (this.#isEnding) return
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#take()
  }

  /** Takes the whole messages that are here, as far as the limits allow, and settles how to go on. */
  #take(): void {
    let isWholeLeft = true
    this.#socket.cork()
    while (isWholeLeft && this.#mayTakeMore()) isWholeLeft = this.#takeMessage()
    this.#socket.uncork()
    if (this.#isEnding) return
    if (isWholeLeft) {
      // The client waits, not we: its time for the rest of a message begins anew later.
      this.#stopMessageTimer()
      this.#socket.pause()
      this.#goOn()
    } else if (this.#isHalfClosed || this.#isDraining) this.finish()
    else if (this.#pending.length > 0) this.#messageTimer ??= setTimeout(() => this.destroy(), this.#limits.messageMs)
  }

  #mayTakeMore(): boolean {
    return this.#inFlight < this.#limits.inFlight && this.#socket.writableLength < this.#limits.unread
  }

  /** Takes one message; false where no whole one is here. */
  #takeMessage(): boolean {
    if (this.#pending.length < PREFIX_OCTETS) return false
    const length = this.#pending.readUInt16BE(0)
    // Nothing that short can be answered, and what follows cannot be trusted to begin a message.
    if (length < HEADER_OCTETS) {
      this.finish()
      return false
    }
    const end = PREFIX_OCTETS + length
    if (this.#pending.length < end) return false
    const octets = this.#pending.subarray(PREFIX_OCTETS, end)
    this.#pending = this.#pending.length === end ? NOTHING : this.#pending.subarray(end)
    this.#stopMessageTimer()
    this.#inFlight++
    this.#receive(new StreamSlot(octets, this.client, this))
    return true
  }

  /** Sends the reply in `outgoing`, or nothing for length 0. */
  answered(length: number): void {
    this.#inFlight--
    if (this.#socket.destroyed) return
    if (length > 0) this.#write(length)
    if (!this.#isEnding) this.#goOn()
    else if (this.#inFlight === 0) this.finish()
  }

  #write(length: number): void {
    const octets = Buffer.allocUnsafe(PREFIX_OCTETS + length)
    octets.writeUInt16BE(length, 0)
    outgoing.copy(octets, PREFIX_OCTETS, 0, length)
    if (!this.#socket.write(octets)) this.#startWriteTimer()
  }

  #drained(): void {
    clearTimeout(this.#writeTimer)
    this.#writeTimer = undefined
    this.#goOn()
  }

  /**
   * Takes what was left when there was too much to do, if there is room now. In a later turn: this may be the call of a reply
   * from within {@link #take}, and others want theirs.
   */
  #goOn(): void {
    if (this.#isTurnComing || !this.#socket.isPaused() || !this.#mayTakeMore()) return
    this.#isTurnComing = true
    setImmediate(() => {
      this.#isTurnComing = false
      if (this.#socket.destroyed || this.#isEnding || !this.#mayTakeMore()) return
      if (!this.#isDraining) this.#socket.resume()
      this.#take()
    })
  }

  #startWriteTimer(): void {
    this.#writeTimer ??= setTimeout(() => this.destroy(), this.#limits.writeMs)
  }

  #stopMessageTimer(): void {
    clearTimeout(this.#messageTimer)
    this.#messageTimer = undefined
  }
}

class StreamSlot implements Slot {
  readonly octets: Buffer
  readonly client: Client
  isKept = false
  readonly #connection: Connection

  constructor(octets: Buffer, client: Client, connection: Connection) {
    this.octets = octets
    this.client = client
    this.#connection = connection
  }

  get length(): number {
    return this.octets.length
  }

  /** It has its octets to itself. */
  keep(): void {
    this.isKept = true
  }

  reserve(): Buffer {
    return outgoing
  }

  send(length: number): void {
    this.#connection.answered(length)
  }

  drop(): void {
    this.#connection.answered(0)
  }
}
