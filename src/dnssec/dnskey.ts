/** The public half of a key: what of it stands in a DNSKEY, a DS, and the name of its files. */
import { createHash, type KeyObject } from 'node:crypto'
import { labelsOf, nameOctets } from '../message/name.js'
import { type Algorithm, publicKeyOf, verifies } from './algorithms.js'

/** What a DNSKEY record says. */
export interface DnskeyParts {
  /** The owner's canonical name. */
  readonly zone: string
  /** 256 or 257. */
  readonly flags: number
  readonly algorithm: Algorithm
  /** As the record has it. */
  readonly publicKey: Buffer
}

const SEP = 1
const PROTOCOL = 3
const DIGESTS = { 2: 'sha256', 4: 'sha384' } as const

/** The digest of a DS: 2 is SHA-256 (RFC 4509), 4 is SHA-384 (RFC 6605 §2). */
export type DigestType = keyof typeof DIGESTS

/** A DNSKEY of a zone (RFC 4034 §2). */
export class Dnskey {
  /** The canonical name. */
  readonly zone: string
  /** 256 for a ZSK, 257 for a KSK or a CSK. */
  readonly flags: number
  readonly isSep: boolean
  /** As a number of the registry. */
  readonly algorithm: number
  /** The mnemonic of the algorithm. */
  readonly mnemonic: string
  /** RFC 4034 appendix B. */
  readonly tag: number
  /** Of the DNSKEY record. */
  readonly rdata: Uint8Array
  /** The name of its files without the ending, as BIND has it: `Kexample.org.+013+24014`. */
  readonly name: string
  /** Validators may not trust its algorithm: it rests on SHA-1. */
  readonly isWeak: boolean
  readonly #algorithm: Algorithm
  readonly #public: KeyObject

  /** Throws KeyProblem where the public key is none of the algorithm. */
  constructor({ zone, flags, algorithm, publicKey }: DnskeyParts) {
    this.zone = zone
    this.flags = flags
    this.isSep = (flags & SEP) !== 0
    this.algorithm = algorithm.number
    this.mnemonic = algorithm.name
    this.isWeak = algorithm.isWeak
    this.rdata = Uint8Array.from([flags >> 8, flags & 0xff, PROTOCOL, algorithm.number, ...publicKey])
    this.tag = keyTag(this.rdata)
    this.name = `K${fileName(zone)}+${String(algorithm.number).padStart(3, '0')}+${String(this.tag).padStart(5, '0')}`
    this.#algorithm = algorithm
    this.#public = publicKeyOf(algorithm, publicKey)
  }

  /** Whether the signature is one of these octets, by the public key as it stands in the record. */
  verifies(octets: Uint8Array, signature: Uint8Array): boolean {
    return verifies(this.#algorithm, this.#public, octets, signature)
  }

  /** The rdata of the DS record for the parent zone. */
  ds(digestType: DigestType): Uint8Array {
    const digest = createHash(DIGESTS[digestType]).update(nameOctets(this.zone)).update(this.rdata).digest()
    return Uint8Array.from([this.tag >> 8, this.tag & 0xff, this.algorithm, digestType, ...digest])
  }

  /** The DS record as a master file has it, as dnssec-dsfromkey prints it. */
  dsText(digestType: DigestType): string {
    const digest = Buffer.from(this.ds(digestType).subarray(4)).toString('hex').toUpperCase()
    return `${this.zone} IN DS ${this.tag} ${this.algorithm} ${digestType} ${digest}`
  }
}

/** RFC 4034 appendix B. */
function keyTag(rdata: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < rdata.length; i++) sum += i % 2 === 0 ? rdata[i]! << 8 : rdata[i]!
  return (sum + (sum >> 16)) & 0xffff
}

/** A zone's name as BIND has it in names of files: all but letters, digits, `-` and `_` inside a label is `%XX`. */
function fileName(zone: string): string {
  const labels = labelsOf(zone).map((label) => label.replace(/[^\w-]/g, (octet) => `%${hex(octet.charCodeAt(0))}`))
  return `${labels.join('.')}.`
}

function hex(octet: number): string {
  return octet.toString(16).toUpperCase().padStart(2, '0')
}
