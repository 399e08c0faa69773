/** `skein keys`: makes key pairs that sign zones, lists those in a folder, and prints their DS records. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { reasonOf } from '../corefile/outside.js'
import { algorithmToMake } from '../dnssec/algorithms.js'
import type { DigestType, Dnskey } from '../dnssec/dnskey.js'
import { baseOf, halfPairNames, keyPairNames, readDnskey, readKeyPair, zoneOfName } from '../dnssec/key-file.js'
import { makeKey } from '../dnssec/key-folder.js'
import { KeyProblem } from '../dnssec/key-problem.js'
import { canonicalName, RecordError } from '../message/name.js'
import { oneLine } from '../message/one-line.js'
import { type Arguments, type Flag, readArguments, shownFlags, UsageError } from './arguments.js'

const FOLDER: Flag = { spellings: ['folder'], value: 'DIR', about: 'where the keys lie (./keys)' }
const HELP: Flag = { spellings: ['help', 'h'], about: 'print this text' }
const ALGORITHM: Flag = {
  spellings: ['algorithm', 'a'],
  value: 'NUMBER',
  about: 'generate: 8, 10, 13, 14, 15, or the name of one, such as ED25519 (13, ECDSAP256SHA256)'
}
const KSK: Flag = {
  spellings: ['ksk'],
  about: 'generate: a key for the DS, which signs all where no ZSK lies beside it (without -zsk)'
}
const ZSK: Flag = { spellings: ['zsk'], about: 'generate: a key that signs all but the keys, for a zone that has a KSK' }
const DIGEST: Flag = { spellings: ['digest'], value: 'TYPE', about: 'ds: 2, which is SHA-256, or 4, SHA-384 (2)' }

const VERBS: Readonly<Record<string, { flags: readonly Flag[]; go: (given: Arguments) => Promise<void> | void }>> = {
  generate: { flags: [ALGORITHM, KSK, ZSK, FOLDER, HELP], go: generate },
  ds: { flags: [DIGEST, FOLDER, HELP], go: printDs },
  list: { flags: [FOLDER, HELP], go: list }
}

/** The help of the command. */
export const KEYS_HELP = `skein keys: make, list and tell of the keys that sign zones

Usage:
  skein keys generate ZONE   make a key pair, in files as BIND has them; print its name and its DS
  skein keys ds [ZONE|FILE…] print the DS records for the parent zones, of all zones in the folder without ZONE
  skein keys list [ZONE]     print zone, tag, algorithm, KSK, ZSK or CSK, and file of each key pair

Flags:
${shownFlags([ALGORITHM, KSK, ZSK, DIGEST, FOLDER, HELP])}

The DS is of the keys that have the bit SEP, a KSK or a CSK; where a zone has none, of all its keys. A broken file is told, and the
command ends with 1.

  skein keys generate example.org
`

/** Runs the command. Throws UsageError, KeyProblem. */
export async function keysCommand(argv: readonly string[]): Promise<void> {
  const [verb, ...rest] = argv
  if (verb === undefined || /^(help|--?h(elp)?)$/.test(verb)) return print(KEYS_HELP)
  if (!Object.hasOwn(VERBS, verb)) throw new UsageError(`unknown command keys ${oneLine(verb)}, expected generate, ds or list`)
  const { flags, go } = VERBS[verb]!
  const given = readArguments(rest, flags)
  if (given.flags.has('help')) return print(KEYS_HELP)
  await go(given)
}

async function generate({ flags, words }: Arguments): Promise<void> {
  const [word, extra] = words
  if (word === undefined || extra !== undefined) throw new UsageError('keys generate: expected one zone, such as example.org')
  const zone = readZone(word)
  if (flags.has('ksk') && flags.has('zsk')) throw new UsageError('keys generate: expected -ksk or -zsk, not both')
  const made = await makeKey(folderOf(flags), zone, readAlgorithm(flags.get('algorithm') ?? '13'), flags.has('zsk') ? 256 : 257)
  // The DS of a ZSK would break the chain of trust that a KSK beside it has.
  print(made.key.isSep ? `${made.name}\n${made.key.dsText(2)}\n` : `${made.name}\n`)
}

function printDs({ flags, words }: Arguments): void {
  const digest = readDigest(flags.get('digest') ?? '2')
  const folder = folderOf(flags)
  const files = words.filter((word) => isKeyFile(word))
  const zones = words.filter((word) => !isKeyFile(word)).map(readZone)
  const keys = files.map((file) => publicKeyAt(placeOf(baseOf(file), folder)))
  if (files.length === 0 || zones.length > 0) keys.push(...keysForParents(folder, zones))
  print(keys.map((key) => `${key.dsText(digest)}\n`).join(''))
}

/** The keys of these zones, or of all where none is named, that their parents are to have a DS of. */
function keysForParents(folder: string, zones: readonly string[]): Dnskey[] {
  const names = namesIn(folder)
  checkHalves(names, folder, zones)
  const all = keyPairNames(names).map((base) => publicKeyAt(join(folder, base)))
  const wanted = zones.length > 0 ? [...new Set(zones)] : [...new Set(all.map(({ zone }) => zone))]
  return wanted.flatMap((zone) => {
    const own = all.filter((key) => key.zone === zone)
    if (own.length === 0) throw noPair(zone, folder)
    const withSep = own.filter(({ isSep }) => isSep)
    return withSep.length > 0 ? withSep : own
  })
}

function noPair(zone: string, folder: string): KeyProblem {
  return new KeyProblem(`there is no key pair of ${zone} in ${oneLine(folder)}`)
}

/** The server refuses half a pair, and the DS of the keys beside it may be of a ZSK. */
function checkHalves(names: readonly string[], folder: string, zones: readonly string[]): void {
  const half = halfPairNames(names, '.key').find((base) => zones.length === 0 || zones.includes(zoneOfName(base)!))
  if (half !== undefined) throw new KeyProblem(`there is ${oneLine(join(folder, half))}.key without its .private, expected both or neither`)
}

function list({ flags, words }: Arguments): void {
  if (words.length > 1) throw new UsageError(`keys list: expected one zone at most, not ${JSON.stringify(words[1])}`)
  const zone = words[0] === undefined ? undefined : readZone(words[0])
  const folder = folderOf(flags)
  const bases = basesIn(namesIn(folder)).filter((base) => zone === undefined || zoneOfName(base) === zone)
  if (zone !== undefined && bases.length === 0) throw noPair(zone, folder)
  const found: { key: Dnskey; file: string }[] = []
  for (const base of bases) {
    const file = join(folder, base)
    try {
      found.push({ key: pairAt(file), file })
    } catch (error) {
      if (!(error instanceof KeyProblem)) throw error
      process.stderr.write(`skein: ${error.message}\n`)
      process.exitCode = 1
    }
  }
  const keys = found.map(({ key }) => key)
  print(found.map(({ key, file }) => `${key.zone} ${key.tag} ${key.mnemonic} ${roleOf(key, keys)} ${oneLine(file)}\n`).join(''))
}

/** A key of its own signs everything, one with ZSKs of its algorithm beside it the keys alone. */
function roleOf(key: Dnskey, keys: readonly Dnskey[]): 'KSK' | 'ZSK' | 'CSK' {
  if (!key.isSep) return 'ZSK'
  return keys.some((other) => !other.isSep && other.zone === key.zone && other.algorithm === key.algorithm) ? 'KSK' : 'CSK'
}

function pairAt(file: string): Dnskey {
  const key = readKeyPair(oneLine(file), textOf(`${file}.key`), textOf(`${file}.private`))
  const named = zoneOfName(basename(file))
  if (key.zone !== named) throw new KeyProblem(`${oneLine(file)}.key: is a key of ${key.zone}, and its name says ${named}`)
  return key
}

function publicKeyAt(file: string): Dnskey {
  return readDnskey(oneLine(file), textOf(`${file}.key`))
}

function textOf(file: string): string {
  try {
    // Reading a pipe would wait for a writer.
    if (!statSync(file).isFile()) throw new KeyProblem(`${oneLine(file)} is no file`)
    return readFileSync(file, 'latin1')
  } catch (error) {
    if (error instanceof KeyProblem) throw error
    throw new KeyProblem(`cannot read ${oneLine(file)}: ${reasonOf(error)}`)
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such folder' : reasonOf(error)
    throw new KeyProblem(`cannot read ${oneLine(folder)}: ${reason}: name the folder of the keys with -folder`)
  }
}

/** The key pairs of which there is a file. */
function basesIn(names: readonly string[]): string[] {
  const bases = names.filter((name) => /\.(key|private)$/.test(name)).map(baseOf)
  return [...new Set(bases)].filter((base) => zoneOfName(base) !== undefined)
}

/** Where a file is: in the folder of the keys where its name alone is given, and it is not in this one. */
function placeOf(base: string, folder: string): string {
  return basename(base) === base && !existsSync(`${base}.key`) ? join(folder, base) : base
}

/** Whether a word is a file and no zone. */
function isKeyFile(word: string): boolean {
  return /\.(key|private)$/.test(word) || zoneOfName(basename(word)) !== undefined
}

function folderOf(flags: ReadonlyMap<string, string>): string {
  return flags.get('folder') ?? 'keys'
}

function readZone(text: string): string {
  try {
    return canonicalName(text)
  } catch (error) {
    if (error instanceof RecordError) throw new UsageError(`expected a zone: ${error.message}`)
    throw error
  }
}

function readAlgorithm(text: string): number {
  try {
    return algorithmToMake(text).number
  } catch (error) {
    if (error instanceof KeyProblem) throw new UsageError(`-algorithm: ${error.message}`)
    throw error
  }
}

function readDigest(text: string): DigestType {
  if (text === '2' || text === '4') return Number(text) as DigestType
  throw new UsageError(`-digest: expected 2 or 4, not ${JSON.stringify(text)}`)
}

function print(text: string): void {
  process.stdout.write(text)
}
