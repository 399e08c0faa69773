/** The keys of the zones, out of the files that hold them. */
import { join } from 'node:path'
import {
  ConfigError,
  type Directive,
  type Host,
  halfPairNames,
  KeyProblem,
  keyPairNames,
  type MaybePromise,
  makeKeyFile,
  nameOctets,
  readKeyPair,
  type Shared,
  shown,
  type ZoneKey
} from 'skein/plugin'
import { checkOwner, type Options } from './options.js'
import { SignedZone } from './zone.js'

/** A hash is a label of 32 octets. */
const MOST_NSEC3_OCTETS = 255 - 33

/** The zones that can be signed, and those that a key has yet to be made for. */
export interface Loaded {
  readonly zones: readonly SignedZone[]
  readonly keyless: readonly string[]
}

/** Reads all keys; throws ConfigError where one cannot be read, or is for none of the zones. */
export async function loadZones(options: Options, host: Host): Promise<Loaded> {
  const named: ZoneKey[] = []
  for (const { base, at } of options.files) {
    const key = await readKey(base, host, at)
    checkOwner(options, key.zone, base, at)
    named.push(key)
  }
  const all = distinct([...named, ...(await keysOfFolder(options, host))])
  if (options.denial === 'nsec3') for (const key of all) checkNsec3(key, options.denialAt)
  const apexes = [...new Set(all.map(({ zone }) => zone))]
  const keysOf = (apex: string): readonly ZoneKey[] => all.filter(({ zone }) => zone === apex)
  return {
    zones: apexes.map((apex) => new SignedZone(apex, options.denial, keysOf(apex))),
    keyless: options.folder === undefined ? [] : foldersZones(options).filter((zone) => !apexes.includes(zone))
  }
}

async function keysOfFolder({ folder, folderAt, ...options }: Options, host: Host): Promise<ZoneKey[]> {
  if (folder === undefined) return []
  const names = await toldAt(folderAt, () => host.readFolder(folder))
  const keys: ZoneKey[] = []
  for (const zone of foldersZones(options)) {
    const bases = keyPairNames(names, zone)
    checkHalves(names, zone, folder, folderAt)
    for (const base of bases) {
      const path = join(folder, base)
      const key = await readKey(path, host, folderAt)
      if (key.zone !== zone) folderAt.fail(`the key ${shown(path)} is for ${key.zone}, expected one for ${zone}, as its name has it`)
      keys.push(key)
    }
  }
  return keys
}

/** The label with a hash in front of the apex has to leave a name; algorithm 5 says that there is NSEC alone (RFC 5155 §2). */
function checkNsec3({ zone, name, algorithm, mnemonic }: ZoneKey, at: Directive): void {
  if (nameOctets(zone).length > MOST_NSEC3_OCTETS) at.fail(`${shown(zone)} is too long for nsec3, expected nsec`)
  if (algorithm === 5)
    at.fail(`the key ${name} is of ${mnemonic}, which does not go with nsec3: expected nsec, or a key of another algorithm`)
}

/** A new key, and the others alone, may not be what the parent zone points to: whoever has lost half of a pair is to know. */
function checkHalves(names: readonly string[], zone: string, folder: string, at: Directive): void {
  const [base] = halfPairNames(names, '.key', zone)
  if (base !== undefined) at.fail(`there is ${join(folder, base)}.key without its .private, expected both or neither`)
}

/**
 * Makes the keys that are missing, once a process, and tells of each with its DS record, which the parent is to have. A zone that has
 * had a key gets no other one: it would not be the one that the parent points to. Gives what says so until it is called.
 */
export async function makeKeys({ keyless, zones }: Loaded, options: Options, host: Host): Promise<() => Promise<void>> {
  const { folder, folderAt } = options
  if (folder === undefined) return async () => {}
  const held: Shared<void>[] = []
  for (const zone of foldersZones(options)) {
    const isMissing = keyless.includes(zone)
    if (!isMissing && !zones.some(({ apex }) => apex === zone)) continue
    held.push(
      await host.shared(`dnssec/key ${zone} ${host.resolvePath(folder)}`, async () => ({
        value: isMissing ? await makeMissing(zone, folder, folderAt, host) : undefined
      }))
    )
  }
  return async () => {
    for (const share of held) await share.release()
  }
}

/** Fails where a key is missing still: there was one, and it has gone. */
export function checkKept({ keyless }: Loaded, { folderAt, folder }: Options): void {
  const [zone] = keyless
  if (zone !== undefined)
    folderAt.fail(
      `the key of ${zone} is gone from ${folder}: expected it there; a start of the whole server makes another, which the DS at the parent is not of`
    )
}

async function makeMissing(zone: string, folder: string, at: Directive, host: Host): Promise<void> {
  // Another server block with this zone may have started meanwhile.
  const names = await host.readFolder(folder)
  if (keyPairNames(names, zone).length > 0) return
  // What a start that was killed leaves behind must not keep the next one from starting; it may be all that is left of a key in use, too.
  for (const base of halfPairNames(names, '.private', zone))
    host.log.warn(`there is ${join(folder, base)}.private without its .key: it signs nothing, and ${zone} gets another key`)
  const made = await makeKeyFile(host.resolvePath(folder), zone).catch((error: unknown) => failAt(at, error))
  const base = join(folder, made)
  const key = await readKey(base, host, at)
  host.log.info(`made the key ${base}; for the parent zone: ${key.dsText(2)}`)
}

/** Nobody means the root, whose keys the world has: it is signed only with a key that is named. */
function foldersZones({ zones }: Pick<Options, 'zones'>): readonly string[] {
  return zones.filter((zone) => zone !== '.')
}

async function readKey(base: string, host: Host, at: Directive): Promise<ZoneKey> {
  const [publicText, privateText] = [
    await toldAt(at, () => host.readFile(`${base}.key`)),
    await toldAt(at, () => host.readFile(`${base}.private`))
  ]
  try {
    return readKeyPair(base, publicText.toString('latin1'), privateText.toString('latin1'))
  } catch (error) {
    return failAt(at, error)
  }
}

function failAt(at: Directive, error: unknown): never {
  if (error instanceof KeyProblem) at.fail(error.message)
  throw error
}

/** Has what cannot be read told at the line that names it. */
async function toldAt<T>(at: Directive, read: () => MaybePromise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.problem, at.at, { cause: error })
  }
}

/** Of the same key named twice there is one. */
function distinct(keys: readonly ZoneKey[]): ZoneKey[] {
  return [...new Map(keys.map((key) => [`${key.zone} ${Buffer.from(key.rdata).toString('latin1')}`, key])).values()]
}
