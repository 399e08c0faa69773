import type { Client } from '../../query.js'
import type { Slot } from '../slot.js'
import type { Libc } from './libc.js'
import type { OutgoingBuffer } from './outgoing.js'
import { addressAt, portAt, sockaddrLength } from './sockaddr.js'

/** The socket that a request came to, for the slot that holds it. */
export interface AskedSocket {
  readonly address: string
  readonly endpoint: string
  take(size: number): OutgoingBuffer
  giveBack(buffer: OutgoingBuffer): void
  /** Sends the first `length` octets of a buffer that was taken to the sockaddr at `at`. */
  reply(buffer: OutgoingBuffer, length: number, name: Uint8Array, at: number): void
  /** A request gets no reply. */
  dropped(): void
}

/** Who asked: read from the sockaddr when somebody wants to know. */
export class BatchClient implements Client {
  readonly transport = 'udp'
  endpoint = ''
  #local = ''
  readonly #libc: Libc
  #names: Uint8Array
  #at: number

  constructor(libc: Libc, names: Uint8Array, at: number) {
    this.#libc = libc
    this.#names = names
    this.#at = at
  }

  /** Has asked this socket. */
  ask({ address, endpoint }: AskedSocket): void {
    this.#local = address
    this.endpoint = endpoint
  }

  get local(): string {
    return this.#local
  }

  get address(): string {
    return addressAt(this.#libc, this.#names, this.#at)
  }

  get port(): number {
    return portAt(this.#names, this.#at)
  }

  /** Where its sockaddr is. */
  get names(): Uint8Array {
    return this.#names
  }

  get at(): number {
    return this.#at
  }

  /** Where what there is of its sockaddr ends. */
  get end(): number {
    return this.#at + sockaddrLength(this.#names, this.#at)
  }

  /** Has its sockaddr there from now on. */
  move(names: Uint8Array, at: number): void {
    this.#names = names
    this.#at = at
  }
}

/**
 * A place of the batch, with the request that is in it.
 *
 * Who owns it: from `begin` to `release` the handler that it is given to. If that has answered by then and has not called `keep`, the place
 * goes to the next datagram: octets, client, and this very object. Otherwise octets and sockaddr are copied to memory of the slot's own,
 * by `keep` or, where the request is still to be answered, by `release`; slot and client are the handler's for good then, and the place
 * gets new ones. So a datagram costs no object where it is answered at once.
 */
export class BatchSlot implements Slot {
  octets: Buffer
  length = 0
  readonly client: BatchClient
  #socket!: AskedSocket
  #outgoing: OutgoingBuffer | undefined
  #isSettled = false
  isKept = false

  constructor(octets: Buffer, client: BatchClient) {
    this.octets = octets
    this.client = client
  }

  /** Takes up the datagram that has come into the place. */
  begin(socket: AskedSocket, length: number): void {
    this.#socket = socket
    this.length = length
    this.#isSettled = false
    this.client.ask(socket)
  }

  /** Ends the handler's call; whether the next datagram may have the place with this slot. */
  release(): boolean {
    if (!this.#isSettled) this.keep()
    return !this.isKept
  }

  keep(): void {
    if (this.isKept) return
    this.isKept = true
    const { length } = this
    const { names, at, end } = this.client
    const own = Buffer.allocUnsafe(length + end - at)
    this.octets.copy(own, 0, 0, length)
    for (let from = at, to = length; from < end; from++, to++) own[to] = names[from]!
    this.octets = own
    this.client.move(own, length)
  }

  reserve(size: number): Buffer {
    if (this.#outgoing !== undefined && this.#outgoing.octets.length < size) {
      this.#socket.giveBack(this.#outgoing)
      this.#outgoing = undefined
    }
    this.#outgoing ??= this.#socket.take(size)
    return this.#outgoing.octets
  }

  send(length: number): void {
    const buffer = this.#settle()!
    this.#socket.reply(buffer, length, this.client.names, this.client.at)
  }

  drop(): void {
    const buffer = this.#settle()
    if (buffer !== undefined) this.#socket.giveBack(buffer)
    this.#socket.dropped()
  }

  /** The buffer goes on to somebody else. */
  #settle(): OutgoingBuffer | undefined {
    const buffer = this.#outgoing
    this.#outgoing = undefined
    this.#isSettled = true
    return buffer
  }
}
