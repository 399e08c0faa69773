/** `skein skydns`: what SkyDNS was told becomes a configuration of this server. */
import { ConfigError } from '../corefile/directive.js'
import type { Variables } from '../corefile/environment.js'
import { shownDuration } from '../corefile/value.js'
import { cut } from '../message/one-line.js'
import type { MaybePromise } from '../plugin.js'
import type { Arguments } from '../process/arguments.js'
import type { Configuration } from '../process/configuration.js'
import { corefileOf, type Machine, storeAlone, topOf } from './corefile.js'
import { givenBy } from './given.js'
import { NAMES, type Said, type SettingName, type Settings, type Settled, SPECS, type Spec, settle } from './settings.js'
import { readStored } from './stored.js'
import { storedText } from './stored-text.js'

/** Lines for the operator. */
export interface Tell {
  info(text: string): void
  warn(text: string): void
}

/** What the command reads besides its flags. */
export interface Around {
  readonly variables: Variables
  readonly tell: Tell
  /** Asked anew at each reading. */
  readonly machine: () => MaybePromise<Machine>
}

/** A configuration, and its text. */
export type SkydnsConfiguration = Configuration & { readonly text: string }

/** What its messages and its control socket call the configuration. */
const NAME = 'skydns'
/** Characters of a value in the log: as many as a name has, and as a list of members may have. */
const MOST_SHOWN = 1000
const NOTHING: Said = new Map()

/** The settings that this process was started with. Throws UsageError. */
export class Skydns {
  readonly #given: Said
  readonly #around: Around

  constructor(flags: Arguments['flags'], around: Around) {
    this.#around = around
    if (flags.has('discover')) around.tell.warn('-discover has no effect: name the members of the cluster with -machines')
    this.#given = givenBy(flags, around.variables, (text) => around.tell.warn(text))
  }

  /**
   * Reads the stored object too, and what the machine has: SkyDNS's way at a start, which goes on where the store cannot be read; a
   * server that runs with what it has read stays as it is then (`isAgain`). Throws ConfigError.
   */
  async read(isAgain = false): Promise<SkydnsConfiguration> {
    const { tell, machine } = this.#around
    const around = await machine()
    const first = settle(this.#given, NOTHING)
    // What is wrong on the command line is told before anything is asked for.
    corefileOf({ ...first, systemd: { value: false, from: 'default' } }, around)
    const settings = settle(this.#given, await this.#stored(first, isAgain))
    const { text, blocks, notes } = corefileOf(settings, around)
    for (const line of understood(settings)) tell.info(line)
    for (const note of notes) tell.warn(note)
    const files = [{ path: NAME, octets: Buffer.from(text) }]
    return { file: NAME, blocks, isDefault: false, files, warnings: [], text }
  }

  async #stored(settings: Settings, isAgain: boolean): Promise<Said> {
    const { tell } = this.#around
    const path = `${topOf(settings)}/config`.replace('//', '/')
    const found = await storedText(storeAlone(settings), path)
    if ('failed' in found) {
      if (isAgain) throw new ConfigError(`cannot read ${path}: ${found.failed}`)
      tell.warn(`cannot read ${path}: ${found.failed}; going on with flags and defaults until SIGHUP has it read again`)
      return NOTHING
    }
    if ('absent' in found) {
      tell.info(`there is no ${path}: going on with flags and defaults`)
      return NOTHING
    }
    const stored = readStored(found.text, path)
    if (typeof stored === 'string') throw new ConfigError(`${path}: ${stored}`)
    for (const note of stored.notes) tell.warn(note)
    return stored.said
  }
}

/** What was understood: a line for each setting that somebody has said, and one for all others. */
function understood(settings: Settings): string[] {
  const said = NAMES.filter((name) => settings[name].from !== 'default').map((name) => {
    const { from, instead, value }: Settled = settings[name]
    const over = instead === undefined ? '' : `, and not ${shownValue(SPECS[name], instead.value)} (${instead.from})`
    return `${labelOf(SPECS[name])} is ${shownValue(SPECS[name], value)} (${from})${over}`
  })
  const others = NAMES.filter((name) => settings[name].from === 'default' && isWorthTelling(name, settings))
  const shown = others.map((name) => `${labelOf(SPECS[name])} ${shownValue(SPECS[name], settings[name].value)}`)
  return shown.length === 0 ? said : [...said, `by default: ${shown.join(', ')}`]
}

/** Whether a default has any effect. */
function isWorthTelling(name: SettingName, { embedded }: Settings): boolean {
  const { default: value, flag, keys }: Spec = SPECS[name]
  if (value === '' || (flag === undefined && keys === undefined)) return false
  return embedded.value === '' || (name !== 'machines' && name !== 'etcd3')
}

function labelOf({ flag, keys, variable }: Spec): string {
  return keys?.[0] ?? (flag === undefined ? variable! : `-${flag}`)
}

function shownValue({ kind, secret }: Spec, value: unknown): string {
  if (secret) return 'given'
  if (kind === 'duration') return shownDuration(value as number)
  // A URL may have a password, which is refused where it would be used.
  if (kind === 'list')
    return cut((value as readonly string[]).join(',').replace(/\/\/[^/,]*@/g, '//…@'), MOST_SHOWN) || 'those of /etc/resolv.conf'
  return value === '' ? 'none' : cut(String(value), MOST_SHOWN)
}
