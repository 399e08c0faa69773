/** What the command line and the environment say of SkyDNS's settings. */
import { nearest } from '../corefile/directive.js'
import type { Variables } from '../corefile/environment.js'
import { type Arguments, type Flag, readArguments, shownFlags, UsageError } from '../process/arguments.js'
import { type Given, NAMES, type Said, type SettingName, SPECS, type Spec } from './settings.js'
import { readText } from './values.js'

/** What stands on the command line besides settings. */
const OWN_FLAGS: readonly Flag[] = [
  { spellings: ['print-corefile'], about: 'prints the Corefile that all this stands for, and ends' },
  { spellings: ['log-format'], value: 'FORMAT', about: 'what lines of the log are, text or json (text)' },
  { spellings: ['version'], about: 'prints the version, and ends' },
  { spellings: ['help', 'h'], about: 'prints this text, and ends' },
  { spellings: ['discover'], about: 'of older SkyDNS: has no effect' }
]

/** The settings whose default is worth telling in the help. */
const SHOWN_DEFAULT: ReadonlySet<SettingName> = new Set<SettingName>([
  'domain',
  'addr',
  'ndots',
  'nsRotate',
  'machines',
  'pathPrefix',
  'roundRobin',
  'rcacheTtl',
  'scache'
])

/** All flags of the command. */
export const FLAGS: readonly Flag[] = [...NAMES.flatMap(flagOf), ...OWN_FLAGS]

/** Of the variables that name a setting with a flag too. */
export const VARIABLES: readonly (readonly [variable: string, about: string])[] = NAMES.flatMap((name) => {
  const { variable, flag, about }: Spec = SPECS[name]
  return variable === undefined ? [] : [[variable, flag === undefined ? about : `-${flag}`] as const]
})

function flagOf(name: SettingName): Flag[] {
  const { flag, kind, about, word = 'VALUE' }: Spec = SPECS[name]
  if (flag === undefined) return []
  const text = `${about}${SHOWN_DEFAULT.has(name) ? ` (${String(SPECS[name].default)})` : ''}`
  return [kind === 'switch' ? { spellings: [flag], tellsNo: true, about: text } : { spellings: [flag], value: word, about: text }]
}

/** The help of the command. */
export const SKYDNS_HELP = `skein skydns: serve what SkyDNS served, started with its flags, its environment and its configuration in the store

Usage:
  skein skydns [FLAGS]

Flags:
${shownFlags(FLAGS)}

Environment, where a flag is not given:
${VARIABLES.map(([variable, about]) => `  ${variable.padEnd(21)}  ${about}`).join('\n')}

The JSON object in the store at /skydns/config has the last word. docs/skydns.md has all of it, and what differs from SkyDNS.
`

/** The command line taken apart. Throws UsageError. */
export function readFlags(argv: readonly string[]): Arguments {
  const given = readArguments(argv, FLAGS)
  const [word] = given.words
  if (word === undefined) return given
  const near = nearest(
    word,
    FLAGS.flatMap(({ spellings }) => spellings)
  )
  throw new UsageError(
    /^(?:true|false|[01tfTF])$/i.test(word)
      ? `skydns: expected flags alone, not ${JSON.stringify(word)}: a flag that is on or off has it behind a =, as in -verbose=${word}`
      : `skydns: expected flags alone, not ${JSON.stringify(word)}${near === undefined ? '' : `: did you mean -${near}?`}`
  )
}

/** What flags and variables say; a flag wins over the variable. Throws UsageError for a flag; `warn` is told of a variable that is wrong. */
export function givenBy(flags: Arguments['flags'], variables: Variables, warn: (text: string) => void): Said {
  const said = new Map<SettingName, Given>()
  for (const name of NAMES) {
    const spec: Spec = SPECS[name]
    const flag = spec.flag === undefined ? undefined : flags.get(spec.flag)
    if (flag !== undefined) {
      const read = readText(spec, flag)
      if ('problem' in read) throw new UsageError(`-${spec.flag}: ${read.problem}`)
      said.set(name, { value: read.value, from: `-${spec.flag}` })
      continue
    }
    const text = spec.variable === undefined ? undefined : variables[spec.variable]
    if (text === undefined || text === '') continue
    const read = readText(spec, text)
    // As in SkyDNS, which does not say so.
    if ('problem' in read) warn(`${spec.variable} has no effect: ${read.problem}`)
    else said.set(name, { value: read.value, from: spec.variable! })
  }
  return said
}
