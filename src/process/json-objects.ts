/** Objects of JSON that stand one after another, pretty-printed or not, cut out of a stream of octets. */
import { constants } from 'node:buffer'
import { StoreError } from '../store/store.js'

const [TAB, LF, CR, SPACE] = [0x09, 0x0a, 0x0d, 0x20]
const BOM: readonly number[] = [0xef, 0xbb, 0xbf]
const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** What may stand between objects: files with a BOM can be put behind one another. */
const BETWEEN: ReadonlySet<number> = new Set([TAB, LF, CR, SPACE, ...BOM])

/**
 * The octets of each object. Throws StoreError where something else stands between two, where the last has no end, and where one has
 * more than `atMost` octets, by default as many as a string can have.
 */
export async function* jsonObjects(stream: AsyncIterable<Buffer>, atMost = constants.MAX_STRING_LENGTH): AsyncGenerator<Buffer> {
  const cutter = new Cutter()
  let parts: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    for (let from = 0; from < chunk.length; ) {
      from = cutter.begin(chunk, from)
      const to = cutter.end(chunk, from)
      parts.push(chunk.subarray(from, to))
      length += to - from
      if (length > atMost)
        throw new StoreError(`the dump has more than the ${shownSize(atMost)} that can be read at once: dump several narrower prefixes`)
      from = to
      if (cutter.isInside) continue
      if (length > 0) yield parts.length === 1 ? parts[0]! : Buffer.concat(parts)
      parts = []
      length = 0
    }
  }
  if (cutter.isInside) throw new StoreError(`the dump is cut off behind ${cutter.seen} octets: expected } at its end`)
}

/** A size in words. */
export function shownSize(octets: number): string {
  return octets >= 1 << 20 ? `${Math.floor(octets / (1 << 20))} MiB` : `${octets} octets`
}

/** Finds where objects begin and end. Whether they are JSON is not its business. */
class Cutter {
  /** Octets that were looked at. */
  seen = 0
  #depth = 0
  #inText = false
  #isEscaped = false

  get isInside(): boolean {
    return this.#depth > 0
  }

  /** Where, from here on, an object goes on or begins. */
  begin(chunk: Buffer, from: number): number {
    if (this.isInside) return from
    let at = from
    while (at < chunk.length && BETWEEN.has(chunk[at]!)) at++
    this.seen += at - from
    if (at < chunk.length && chunk[at] !== OPEN) {
      const found = JSON.stringify(chunk.toString('latin1', at, at + 1))
      throw new StoreError(`octet ${this.seen + 1} of the dump: expected { of another object, not ${found}`)
    }
    return at
  }

  /** Where the object ends, or the chunk. */
  end(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) if (this.#closes(chunk[at++]!)) break
    this.seen += at - from
    return at
  }

  #closes(octet: number): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (octet === QUOTE) this.#inText = !this.#inText
    else if (this.#inText) this.#isEscaped = octet === BACKSLASH
    else if (octet === OPEN || octet === OPEN_LIST) this.#depth++
    else if (octet === CLOSE || octet === CLOSE_LIST) return --this.#depth === 0
    return false
  }
}
