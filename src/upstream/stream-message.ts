const PREFIX_OCTETS = 2

/** Puts together the first message of a stream, its length before it (RFC 1035 §4.2.2), from the pieces that it comes in. */
export class StreamMessage {
  #octets = Buffer.alloc(PREFIX_OCTETS)
  #filled = 0
  #hasLength = false

  /** Adds a piece; gives the message when it is whole. What follows it is left. */
  add(piece: Buffer): Buffer | undefined {
    const taken = piece.copy(this.#octets, this.#filled)
    this.#filled += taken
    if (this.#filled < this.#octets.length) return undefined
    if (this.#hasLength) return this.#octets
    this.#hasLength = true
    this.#octets = Buffer.alloc(this.#octets.readUInt16BE(0))
    this.#filled = 0
    return this.add(piece.subarray(taken))
  }
}
