import { AA, AD, type Message, RA, TC } from '../message/message.js'
import { shownRecord } from '../message/presentation.js'
import { type ResourceRecord, withTtl } from '../message/record.js'

const FLAGS = [
  ['AA', AA],
  ['TC', TC],
  ['RA', RA],
  ['AD', AD]
] as const

/** The flags of a reply that its maker chooses. */
export function flagsOf(flags: number): string[] {
  return FLAGS.flatMap(([name, bit]) => (flags & bit ? [name] : []))
}

/** How one reply differs from another, in words. */
export function difference(before: Message, after: Message): string[] {
  return [
    ...(before.rcode === after.rcode ? [] : [`rcode: ${before.rcode}, now ${after.rcode}`]),
    ...changed('flags', flagsOf(before.flags).join(' '), flagsOf(after.flags).join(' ')),
    ...(['answer', 'authority', 'additional'] as const).flatMap((section) => ofSection(section, before[section], after[section]))
  ]
}

function changed(what: string, before: string, after: string): string[] {
  return before === after ? [] : [`${what}: ${before || 'none'}, now ${after || 'none'}`]
}

function ofSection(name: string, before: readonly ResourceRecord[], after: readonly ResourceRecord[]): string[] {
  if (before === after) return []
  const had = before.map((record) => shownRecord(record))
  const has = after.map((record) => shownRecord(record))
  if (had.join('\n') === has.join('\n')) return []
  if (sorted(had) === sorted(has)) return [`${name}: the same records in another order`]
  const [hadBare, hasBare] = [before, after].map((records) => records.map((record) => shownRecord(withTtl(record, 0))))
  if (sorted(hadBare!) === sorted(hasBare!)) return [`${name}: other TTLs`]
  const gone = hadBare!.filter((text) => !hasBare!.includes(text)).length
  const come = hasBare!.filter((text) => !hadBare!.includes(text)).length
  return [`${name}: ${[gone > 0 && `${gone} fewer`, come > 0 && `${come} more`].filter(Boolean).join(', ') || 'repeated records'}`]
}

function sorted(lines: readonly string[]): string {
  return [...lines].sort().join('\n')
}
