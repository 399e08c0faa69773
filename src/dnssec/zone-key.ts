import type { KeyObject, SignKeyObjectInput } from 'node:crypto'
import { type Algorithm, signInPool, signingInput, signNow } from './algorithms.js'
import { Dnskey, type DnskeyParts } from './dnskey.js'

/** A key pair that signs a zone. The private key does not come out of it. */
export class ZoneKey extends Dnskey {
  /** Whether it signs in the thread pool. */
  readonly signsLater: boolean
  readonly #algorithm: Algorithm
  readonly #private: SignKeyObjectInput

  /** Throws KeyProblem where the public key is none of the algorithm. */
  constructor(parts: DnskeyParts, privateKey: KeyObject) {
    super(parts)
    this.#algorithm = parts.algorithm
    this.signsLater = parts.algorithm.isPooled
    this.#private = signingInput(privateKey)
  }

  /** The signature field of an RRSIG over these octets. At once where that is faster than by the thread pool; what OpenSSL throws comes the same way. */
  sign(octets: Uint8Array): Uint8Array | Promise<Uint8Array> {
    return (this.signsLater ? signInPool : signNow)(this.#algorithm, this.#private, octets)
  }

  /** Whether the two halves belong together: what the one signs, the other verifies. Signs in this thread. What OpenSSL throws is thrown. */
  isPair(): boolean {
    const octets = Buffer.from('a pair')
    return this.verifies(octets, signNow(this.#algorithm, this.#private, octets))
  }
}
