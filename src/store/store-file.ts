import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

// LMDB maps its file: a page that the file no longer holds ends the process by SIGBUS, with no error to catch. So the
// file is read here, before it is mapped. The layout is that of lmdb 3.5.6 (data version 2, 64-bit, little-endian).
const PAGE_HEADER = 24
const FLAGS_AT = 18
const LOWER_AT = 20
const BRANCH = 0x01
const LEAF = 0x02
const OVERFLOW = 0x04
const META = 0x08
const BIG = 0x01
const SUBTREE = 0x02
const NODE_HEADER = 8
const ROOT_IN_TREE = 40
const NO_ROOT = 0xffffffffffffffffn
const META_OCTETS = PAGE_HEADER + 144

interface Meta {
  readonly pageSize: number
  readonly lastPage: number
  readonly txn: bigint
  readonly roots: readonly bigint[]
}

/** What is wrong with an LMDB file, in a few words; undefined where it can be opened without harm. */
export function faultOfFile(path: string): string | undefined {
  const file = openSync(path, 'r')
  try {
    const size = fstatSync(file).size
    const meta = newestMeta(file, size)
    if (typeof meta === 'string') return meta
    // LMDB may leave free pages at the end unwritten. Only then does the whole tree have to be walked.
    const whole = size >= (meta.lastPage + 1) * meta.pageSize
    return new Walk(file, size, meta, whole).fault()
  } finally {
    closeSync(file)
  }
}

function newestMeta(file: number, size: number): Meta | string {
  const first = readMeta(file, size, 0)
  if (typeof first === 'string') return first
  const second = readMeta(file, size, first.pageSize)
  if (typeof second === 'string') return second
  return second.txn > first.txn ? second : first
}

function readMeta(file: number, size: number, at: number): Meta | string {
  if (size < at + META_OCTETS) return 'it is cut short'
  const octets = read(file, at, META_OCTETS)
  const meta = octets.subarray(PAGE_HEADER)
  if ((octets.readUInt16LE(FLAGS_AT) & META) === 0 || meta.readUInt32LE(0) !== 0xbeefc0de) return 'it is no LMDB file'
  const version = meta.readUInt32LE(4) & 0xffff
  if (version !== 2) return `its LMDB format is ${version}, not 2`
  const pageSize = meta.readUInt32LE(24)
  if (pageSize < 512 || pageSize > 65536 || (pageSize & (pageSize - 1)) !== 0) return 'its page size is damaged'
  return {
    pageSize,
    lastPage: Number(meta.readBigUInt64LE(120)),
    txn: meta.readBigUInt64LE(128),
    roots: [meta.readBigUInt64LE(24 + ROOT_IN_TREE), meta.readBigUInt64LE(72 + ROOT_IN_TREE)]
  }
}

/** Reads trees of pages: of each table the root page, or every page that holds or points to something. */
class Walk {
  readonly #file: number
  readonly #size: number
  readonly #meta: Meta
  readonly #rootsOnly: boolean
  #pagesLeft: number

  constructor(file: number, size: number, meta: Meta, rootsOnly: boolean) {
    this.#file = file
    this.#size = size
    this.#meta = meta
    this.#rootsOnly = rootsOnly
    this.#pagesLeft = meta.lastPage + 1
  }

  fault(): string | undefined {
    for (const root of this.#meta.roots) {
      const fault = this.#faultOfTree(root, true)
      if (fault !== undefined) return fault
    }
    return undefined
  }

  #faultOfTree(root: bigint, descend: boolean): string | undefined {
    const open = root === NO_ROOT ? [] : [root]
    for (let page = open.pop(); page !== undefined; page = open.pop()) {
      const octets = this.#page(page)
      if (typeof octets === 'string') return octets
      // A damaged page may point back to itself.
      if (--this.#pagesLeft < 0) return 'its pages form a circle'
      if (!descend) continue
      const fault = (octets.readUInt16LE(FLAGS_AT) & BRANCH) !== 0 ? this.#branch(octets, open) : this.#leaf(octets)
      if (fault !== undefined) return fault
    }
    return undefined
  }

  #page(number: bigint): Buffer | string {
    const { pageSize, lastPage } = this.#meta
    if (number > BigInt(lastPage)) return 'a page number is damaged'
    const at = Number(number) * pageSize
    if (at + pageSize > this.#size) return 'it is cut short'
    const octets = read(this.#file, at, pageSize)
    const isTree = (octets.readUInt16LE(FLAGS_AT) & (BRANCH | LEAF)) !== 0
    return isTree && octets.readBigUInt64LE(0) === number ? octets : `page ${number} is damaged`
  }

  #branch(octets: Buffer, open: bigint[]): string | undefined {
    for (const node of nodes(octets)) {
      if (node === undefined) return 'a branch page is damaged'
      open.push(
        BigInt(octets.readUInt16LE(node)) | (BigInt(octets.readUInt16LE(node + 2)) << 16n) | (BigInt(octets.readUInt16LE(node + 4)) << 32n)
      )
    }
    return undefined
  }

  #leaf(octets: Buffer): string | undefined {
    for (const node of nodes(octets)) {
      if (node === undefined) return 'a leaf page is damaged'
      const flags = octets.readUInt16LE(node + 4)
      const value = node + NODE_HEADER + octets.readUInt16LE(node + 6)
      const fault = (flags & SUBTREE) !== 0 ? this.#table(octets, value) : (flags & BIG) !== 0 ? this.#big(octets, node, value) : undefined
      if (fault !== undefined) return fault
    }
    return undefined
  }

  #table(octets: Buffer, value: number): string | undefined {
    if (value + 48 > octets.length) return 'a leaf page is damaged'
    return this.#faultOfTree(octets.readBigUInt64LE(value + ROOT_IN_TREE), !this.#rootsOnly)
  }

  #big(octets: Buffer, node: number, value: number): string | undefined {
    if (value + 8 > octets.length) return 'a leaf page is damaged'
    const { pageSize } = this.#meta
    const first = octets.readBigUInt64LE(value)
    const octetsOfValue = octets.readUInt16LE(node) + octets.readUInt16LE(node + 2) * 65536
    const pages = BigInt(Math.floor((PAGE_HEADER - 1 + octetsOfValue) / pageSize) + 1)
    if (first > BigInt(this.#meta.lastPage)) return 'a page number is damaged'
    const at = Number(first) * pageSize
    if (Number(first + pages) * pageSize > this.#size) return 'it is cut short'
    const header = read(this.#file, at, PAGE_HEADER)
    return (header.readUInt16LE(FLAGS_AT) & OVERFLOW) !== 0 ? undefined : `page ${first} is damaged`
  }
}

/** Where the nodes of a page begin; undefined for one that cannot be there. */
function* nodes(octets: Buffer): Generator<number | undefined> {
  const count = octets.readUInt16LE(LOWER_AT) >> 1
  for (let i = 0; i < count; i++) {
    const pointer = PAGE_HEADER + i * 2
    const node = pointer + 2 > octets.length ? octets.length : octets.readUInt16LE(pointer) + PAGE_HEADER
    yield node + NODE_HEADER > octets.length ? undefined : node
  }
}

function read(file: number, at: number, length: number): Buffer {
  const octets = Buffer.alloc(length)
  let got = 0
  while (got < length) {
    const octetsRead = readSync(file, octets, got, length - got, at + got)
    if (octetsRead === 0) break
    got += octetsRead
  }
  return octets
}
