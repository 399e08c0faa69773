/** The keys of the zones, out of the files that hold them. */
import { join } from 'node:path'
import { type Directive, type Host, KeyProblem, keyPairNames, makeKeyFile, readKeyPair, type ZoneKey } from 'skein/plugin'
import { checkOwner, type Options } from './options.js'
import { SignedZone } from './zone.js'

/** The zones that can be signed, and those that a key has yet to be made for. */
export interface Loaded {
  readonly zones: readonly SignedZone[]
  readonly keyless: readonly string[]
}

/** Reads all keys; throws ConfigError where one cannot be read, or is for none of the zones. */
export async function loadZones(options: Options, host: Host, directive: Directive): Promise<Loaded> {
  const keys = new Map<string, ZoneKey>()
  for (const { base, at } of options.files) {
    const key = await readKey(base, host, at)
    checkOwner(options, key.zone, base, at)
    keys.set(idOf(key), key)
  }
  const keyless: string[] = []
  const { folder } = options
  if (folder !== undefined) {
    const names = await host.readFolder(folder)
    for (const zone of foldersZones(options)) {
      const bases = keyPairNames(names, zone)
      if (bases.length === 0) keyless.push(zone)
      for (const base of bases) {
        const key = await readKey(join(folder, base), host, directive)
        keys.set(idOf(key), key)
      }
    }
  }
  const all = [...keys.values()]
  const apexes = [...new Set(all.map(({ zone }) => zone))]
  return {
    zones: apexes.map(
      (apex) =>
        new SignedZone(
          apex,
          options.denial,
          all.filter(({ zone }) => zone === apex)
        )
    ),
    keyless
  }
}

/** Makes the keys that are missing, once a process; tells of each with its DS record, which the parent is to have. */
export async function makeKeys({ keyless }: Loaded, folder: string, host: Host): Promise<void> {
  for (const zone of keyless) {
    const made = await host.shared(`dnssec/key ${zone} ${host.resolvePath(folder)}`, async () => ({
      value: await makeKeyFile(host.resolvePath(folder), zone)
    }))
    await made.release()
  }
}

/** Nobody means the root, whose keys the world has: it is signed only with a key that is named. */
function foldersZones({ zones }: Options): readonly string[] {
  return zones.filter((zone) => zone !== '.')
}

async function readKey(base: string, host: Host, at: Directive): Promise<ZoneKey> {
  const [publicText, privateText] = [await host.readFile(`${base}.key`), await host.readFile(`${base}.private`)]
  try {
    const key = readKeyPair(base, publicText.toString('latin1'), privateText.toString('latin1'))
    if (key.isWeak)
      host.log.warn(`${key.name} is of an algorithm with SHA-1, which many validators do not take: roll to one of algorithm 13`)
    return key
  } catch (error) {
    if (!(error instanceof KeyProblem)) throw error
    return at.fail(error.message)
  }
}

/** Of the same key named twice there is one. */
function idOf({ rdata, zone }: ZoneKey): string {
  return `${zone} ${Buffer.from(rdata).toString('latin1')}`
}
