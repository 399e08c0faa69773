import { type Config, type Directive, isWithin, type Schema, shown } from 'skein/plugin'
import type { DenialMode } from './zone.js'

/** The directive as configured. */
export interface Options {
  /** Canonical: keys are for zones in these. */
  readonly zones: readonly string[]
  /** Key pairs by the name of their files without suffix, each with its line. */
  readonly files: readonly { readonly base: string; readonly at: Directive }[]
  /** The folder whose key pairs sign the zones of their names; undefined where keys stand in the Corefile alone. */
  readonly folder: string | undefined
  /** The line that names the folder, or else the directive's own. */
  readonly folderAt: Directive
  readonly denial: DenialMode
  /** The line that says so. */
  readonly denialAt: Directive
  readonly capacity: number
  /** How many of a hundred signatures are verified. */
  readonly verified: number
}

const FOLDER = './keys'
const MAX_CAPACITY = 1_000_000

/** What the directive `dnssec` takes. */
export const schema = {
  about: 'Signs answers of its zones, and proofs of what is not there, for those who ask with DO.',
  args: [
    {
      name: 'ZONES',
      type: 'zone',
      rest: true,
      optional: true,
      about: 'the zones that are signed; those of the server block where left out'
    }
  ],
  options: {
    key: {
      args: [
        { name: 'KIND', type: 'choice', of: ['file'] },
        { name: 'FILES', type: 'path', rest: true }
      ],
      repeats: true,
      about:
        'key pairs as BIND writes them, `Kexample.org.+013+24014` for its `.key` and `.private`; blanks in a name stand for `+`. The zone of a key is signed'
    },
    keys: {
      args: [{ name: 'FOLDER', type: 'path' }],
      about: `the folder whose key pairs sign each the zone of its name; a zone that has no key gets one at the start. \`${FOLDER}\` where neither \`key\` nor \`keys\` stands`
    },
    denial: {
      args: [{ name: 'KIND', type: 'choice', of: ['nsec', 'nsec3'] }],
      default: 'nsec',
      about: 'how it is said that something is not there: `nsec`, compact denial (RFC 9824), or `nsec3`, white lies (RFC 7129)'
    },
    cache_capacity: {
      args: [{ name: 'NUMBER', type: 'integer', min: 1, max: MAX_CAPACITY }],
      default: 10000,
      about: 'how many signatures of RRsets are kept'
    },
    verify: {
      args: [{ name: 'PERCENT', type: 'integer', min: 0, max: 100 }],
      default: 0,
      about: 'how many of a hundred new signatures are verified before they are sent'
    }
  }
} as const satisfies Schema

/** What the schema cannot say: which files, and which folder. */
export function readOptions({ args: [zones], options, directive }: Config<typeof schema>): Options {
  const lines = directive.options.filter(({ name }) => name === 'key')
  const files = options.key.flatMap(([, names], index) => names.map((name) => ({ base: baseOf(name), at: lines[index]! })))
  return {
    zones: zones.length > 0 ? zones : directive.zones,
    files,
    folder: options.keys ?? (files.length === 0 ? FOLDER : undefined),
    folderAt: directive.options.find(({ name }) => name === 'keys') ?? directive,
    denial: options.denial,
    denialAt: directive.options.find(({ name }) => name === 'denial') ?? directive,
    capacity: options.cache_capacity,
    verified: options.verify
  }
}

/** The name of both files without suffix. SkyDNS takes blanks for plus signs, since its keys may stand in a URL. */
function baseOf(name: string): string {
  const slash = name.lastIndexOf('/') + 1
  return (
    name.slice(0, slash) +
    name
      .slice(slash)
      .replace(/\.(key|private)$/, '')
      .replaceAll(' ', '+')
  )
}

/** Fails at the line of a key that is for none of the zones. */
export function checkOwner({ zones }: Options, zone: string, base: string, at: Directive): void {
  if (!zones.some((apex) => isWithin(zone, apex))) at.fail(`the key ${shown(base)} is for ${zone}, expected one for ${zones.join(' or ')}`)
}
