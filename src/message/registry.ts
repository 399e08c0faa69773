/** Numbers and mnemonics of the IANA DNS registries: types, classes, rcodes, opcodes. */

// biome-ignore format: a table
const TYPES = {
  A: 1, NS: 2, MD: 3, MF: 4, CNAME: 5, SOA: 6, MB: 7, MG: 8, MR: 9, NULL: 10, WKS: 11, PTR: 12, HINFO: 13, MINFO: 14, MX: 15, TXT: 16,
  RP: 17, AFSDB: 18, X25: 19, ISDN: 20, RT: 21, NSAP: 22, SIG: 24, KEY: 25, PX: 26, GPOS: 27, AAAA: 28, LOC: 29, NXT: 30, SRV: 33,
  NAPTR: 35, KX: 36, CERT: 37, DNAME: 39, OPT: 41, APL: 42, DS: 43, SSHFP: 44, IPSECKEY: 45, RRSIG: 46, NSEC: 47, DNSKEY: 48, DHCID: 49,
  NSEC3: 50, NSEC3PARAM: 51, TLSA: 52, SMIMEA: 53, HIP: 55, CDS: 59, CDNSKEY: 60, OPENPGPKEY: 61, CSYNC: 62, ZONEMD: 63, SVCB: 64,
  HTTPS: 65, SPF: 99, NID: 104, L32: 105, L64: 106, LP: 107, EUI48: 108, EUI64: 109, NXNAME: 128, TKEY: 249, TSIG: 250, IXFR: 251, AXFR: 252,
  MAILB: 253, MAILA: 254, ANY: 255, URI: 256, CAA: 257
} as const

const CLASSES = { IN: 1, CH: 3, HS: 4, NONE: 254, ANY: 255 } as const

// biome-ignore format: a table
const RCODES = {
  NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, YXDOMAIN: 6, YXRRSET: 7, NXRRSET: 8, NOTAUTH: 9, NOTZONE: 10,
  DSOTYPENI: 11, BADVERS: 16, BADKEY: 17, BADTIME: 18, BADMODE: 19, BADNAME: 20, BADALG: 21, BADTRUNC: 22, BADCOOKIE: 23
} as const

/** A type's mnemonic, or `TYPE65280` where it has none (RFC 3597 §5). */
export type RRType = keyof typeof TYPES | `TYPE${number}`
/** A class's mnemonic, or `CLASS42` where it has none. */
export type RRClass = keyof typeof CLASSES | `CLASS${number}`
/** An rcode's mnemonic, or `RCODE13` where it has none. */
export type Rcode = keyof typeof RCODES | `RCODE${number}`

/** The type of the record that carries EDNS (RFC 6891 §6.1.1). */
export const TYPE_OPT = 41

const typeNames = namesOf(TYPES)
const classNames = namesOf(CLASSES)
const rcodeNames = namesOf(RCODES)
const typeNumbers = new Map<string, number>(Object.entries(TYPES))
const classNumbers = new Map<string, number>(Object.entries(CLASSES))
const rcodeNumbers = new Map<string, number>(Object.entries(RCODES))

function namesOf(table: Readonly<Record<string, number>>): readonly (string | undefined)[] {
  const names: (string | undefined)[] = Array.from({ length: Math.max(...Object.values(table)) + 1 })
  for (const [name, number] of Object.entries(table)) names[number] = name
  return names
}

/** The mnemonic of a type number, `TYPEn` where it has none. */
export function typeName(number: number): RRType {
  return (typeNames[number] as RRType | undefined) ?? `TYPE${number}`
}

/** The number of a type's mnemonic in capitals, or undefined. */
export function typeNumber(name: string): number | undefined {
  return typeNumbers.get(name) ?? generic(name, 'TYPE', 65535)
}

/** The mnemonic of a class number, `CLASSn` where it has none. */
export function className(number: number): RRClass {
  return (classNames[number] as RRClass | undefined) ?? `CLASS${number}`
}

/** The number of a class's mnemonic in capitals, or undefined. */
export function classNumber(name: string): number | undefined {
  return classNumbers.get(name) ?? generic(name, 'CLASS', 65535)
}

/** The mnemonic of a 12-bit rcode, `RCODEn` where it has none. */
export function rcodeName(number: number): Rcode {
  return (rcodeNames[number] as Rcode | undefined) ?? `RCODE${number}`
}

/** The 12-bit number of an rcode's mnemonic. */
export function rcodeNumber(name: Rcode): number {
  return rcodeNumbers.get(name) ?? generic(name, 'RCODE', 4095) ?? 2
}

function generic(name: string, prefix: string, max: number): number | undefined {
  if (!name.startsWith(prefix) || !/^\d{1,5}$/.test(name.slice(prefix.length))) return undefined
  const number = Number(name.slice(prefix.length))
  return number <= max ? number : undefined
}

/** Types that ask for something else than records of that type: 128–255 and OPT (RFC 6895 §3.1). */
export function isMetaType(number: number): boolean {
  return (number >= 128 && number <= 255) || number === TYPE_OPT || number === 0
}

/** Types whose records a message can hold all of: those of records, and ANY; not transfers, keys of transactions, OPT. */
export function asksForRecords(number: number): boolean {
  return number === TYPES.ANY || !isMetaType(number)
}
