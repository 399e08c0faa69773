/** The object in the store that SkyDNS reads its settings from. */
import { nearest, shown } from '../corefile/directive.js'
import { cut } from '../message/one-line.js'
import { MAX_VALUE_OCTETS } from '../store/limits.js'
import { type Given, NAMES, type Said, type SettingName, SPECS, type Spec } from './settings.js'
import { readJson } from './values.js'

/** What an object is worth. */
export interface Stored {
  readonly said: Said
  /** What of it has no effect, and why; for the log. */
  readonly notes: readonly string[]
}

const NO_EFFECT: Readonly<Record<string, string>> = {
  etcd3: 'how etcd is read is decided before it is: by -etcd3',
  version: 'the version is told by -version'
}
/** Characters of a key: one without end would be a line without end. */
const MOST_SHOWN = 60
const KEYS: ReadonlyMap<string, SettingName> = new Map(
  NAMES.flatMap((name) => ((SPECS[name] as Spec).keys ?? []).map((key) => [key, name] as const))
)

/** Reads the object; `from` is what the place is called. Gives what is wrong with it where it is none, in words. */
export function readStored(text: string, from: string): Stored | string {
  // As the embedded store has it; an etcd may hold more.
  if (text.length > MAX_VALUE_OCTETS) return `expected at most ${MAX_VALUE_OCTETS} octets, not ${text.length}`
  let object: unknown
  try {
    object = JSON.parse(text)
  } catch (error) {
    return `expected a JSON object (${(error as Error).message})`
  }
  // As Go reads it, which leaves everything as it is.
  if (object === null) return { said: new Map(), notes: [] }
  if (typeof object !== 'object' || Array.isArray(object)) return `expected a JSON object, not ${shown(text)}`
  const said = new Map<SettingName, Given>()
  const spelled = new Map<SettingName, string>()
  const notes: string[] = []
  for (const [spelling, value] of Object.entries(object)) {
    // Go takes keys in any case, and null for nothing said where no list is expected.
    const key = spelling.toLowerCase()
    const name = KEYS.get(key)
    if (value === null && (name === undefined || SPECS[name].kind !== 'list')) continue
    if (name === undefined) {
      notes.push(`${from}: ${cut(spelling, MOST_SHOWN)} has no effect${Object.hasOwn(NO_EFFECT, key) ? `: ${NO_EFFECT[key]}` : hint(key)}`)
      continue
    }
    const read = readJson(SPECS[name], value)
    if ('problem' in read) return `${spelling}: ${read.problem}`
    const before = spelled.get(name)
    // Of two spellings SkyDNS knows the first.
    if (before !== undefined && key !== (SPECS[name] as Spec).keys![0]) {
      notes.push(`${from}: ${spelling} has no effect beside ${before}`)
      continue
    }
    if (before !== undefined && before.toLowerCase() !== key) notes.push(`${from}: ${before} has no effect beside ${spelling}`)
    spelled.set(name, spelling)
    said.set(name, { value: read.value, from })
  }
  return { said, notes }
}

function hint(key: string): string {
  const spec = NAMES.map((name): Spec => SPECS[name]).find(({ flag }) => flag === key.replaceAll('_', '-'))
  if (spec !== undefined && spec.keys === undefined) return `: SkyDNS has no such key, only the flag -${spec.flag}`
  const near = spec?.keys?.[0] ?? nearest(key, [...KEYS.keys()])
  return `: SkyDNS has no such key${near === undefined ? '' : `, did you mean ${near}?`}`
}
