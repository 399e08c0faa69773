/** Keys and signed zones by BIND's own programs. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from './processes.js'
import { tool } from './tools.js'

/** A key pair of a zone. */
export interface ZoneKey {
  /** The files' path without `.key` and `.private`. */
  readonly base: string
  /** The DS record's rdata: `TAG ALGORITHM 2 DIGEST`. */
  readonly ds: string
  /** The DNSKEY record in a line of a zone file. */
  readonly record: string
}

/** What a key signs: everything (with the SEP flag), the keys, or the rest. */
export type KeyRole = 'csk' | 'ksk' | 'zsk'

const run = promisify(execFile)

/** Makes a key pair in the folder. */
export async function makeKey(folder: string, zone: string, algorithm: number, role: KeyRole = 'csk'): Promise<ZoneKey> {
  mkdirSync(folder, { recursive: true })
  const size = algorithm === 8 || algorithm === 10 ? ['-b', '2048'] : []
  const flag = role === 'zsk' ? [] : ['-f', 'KSK']
  const { stdout } = await run(tool('dnssec-keygen'), ['-q', '-K', folder, '-a', `${algorithm}`, ...size, ...flag, zone])
  const base = join(folder, stdout.trim())
  const { stdout: ds } = await run(tool('dnssec-dsfromkey'), ['-2', `${base}.key`])
  const record = readFileSync(`${base}.key`, 'utf8')
    .split('\n')
    .find((line) => line !== '' && !line.startsWith(';'))!
  return { base, ds: ds.trim().replace(/^.* DS /, ''), record }
}

/** How a zone is signed. */
export interface SigningOptions {
  readonly zone: string
  readonly text: string
  readonly keys: readonly ZoneKey[]
  readonly nsec3?: boolean
  /** Seconds from now; 30 days where left out. */
  readonly expiresIn?: number
}

/** Signs a zone with CSKs; gives the signed zone's text. */
export async function signZone({ zone, text, keys, nsec3 = false, expiresIn = 30 * 86_400 }: SigningOptions): Promise<string> {
  const folder = temporaryFolder()
  const [source, signed] = [join(folder.path, 'zone'), join(folder.path, 'signed')]
  writeFileSync(source, [text, ...keys.map(({ record }) => record), ''].join('\n'))
  const denial = nsec3 ? ['-3', '-', '-H', '0'] : []
  const times = ['-s', stamp(Math.min(0, expiresIn) - 86_400), '-e', stamp(expiresIn)]
  const bases = keys.map(({ base }) => base)
  // Of a zone whose signatures are over it would say that it cannot be right.
  await run(tool('dnssec-signzone'), ['-q', '-P', '-z', ...denial, ...times, '-o', zone, '-d', folder.path, '-f', signed, source, ...bases])
  const result = readFileSync(signed, 'utf8')
  folder.remove()
  return result
}

// YYYYMMDDHHMMSS, so many seconds from now.
function stamp(seconds: number): string {
  return new Date(Date.now() + seconds * 1000)
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replaceAll(/[-:T]/g, '')
}
