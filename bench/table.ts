/** What the bench prints. */
import type { Figures, Result } from './measure.js'
import type { Signing } from './signing.js'

/** The columns of the main table. */
export const HEAD = [
  'case',
  'load',
  'server',
  'CPU µs',
  '× floor',
  'answered/s',
  'lost',
  'RSS MiB',
  'RssAnon MiB',
  'p50 µs',
  'p99 µs',
  'late µs'
] as const

/** A table in Markdown, its columns as wide as what is in them. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string => `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n')
}

/** The rows of a case under this title: for each load the servers, in their order; then those without figures. */
export function rowsOf(title: string, results: readonly Result[]): string[][] {
  const loads = Math.max(0, ...results.map((result) => result.loads.length))
  const measured = Array.from({ length: loads }, (_, load) =>
    results.flatMap((result) => (result.loads[load] === undefined ? [] : [rowOf(title, result, result.loads[load])]))
  )
  const absent = results.filter((result) => result.loads.length === 0)
  return [...measured.flat(), ...absent.map((result) => [title, '–', result.server, '–'])]
}

function rowOf(title: string, { server }: Result, figures: Figures): string[] {
  const { load, cpu, toFloor, perSecond, lost, rss, rssAnon, latency } = figures
  return [
    title,
    `${load}`,
    server,
    shown(cpu, 1),
    shown(toFloor, 2),
    shown(perSecond),
    `${lost}`,
    shown(rss),
    shown(rssAnon),
    shown(latency?.p50),
    shown(latency?.p99),
    shown(latency?.late)
  ]
}

/** What is to be said below the table of a case: its Corefile where that is not the example, and what is to be known of its servers. */
export function notesOf(results: readonly Result[]): string[] {
  const [first] = results
  if (first === undefined) return []
  const corefile = first.corefile === 'Corefile.example' ? [] : [`${first.case}: Skein has ${first.corefile}`]
  const signed = results.flatMap(({ case: name, server, loads }) =>
    loads.flatMap(({ load, toPlain }) =>
      toPlain === undefined ? [] : [`${name} ${load}: ${server} takes ${shown(toPlain, 2)} times what it takes without DO`]
    )
  )
  return [
    ...corefile,
    ...signed,
    ...results.flatMap(({ case: name, server, note }) => (note === undefined ? [] : [`${name}: ${server} ${note}`]))
  ]
}

/** The table of the case `signing`. */
export function signingTable(rows: readonly (Signing & { readonly server: string })[]): string {
  const head = [
    'server',
    'algorithm',
    'signing',
    'signatures',
    'raw µs',
    'CPU µs',
    'without DO',
    '× raw',
    'added × raw',
    '× both',
    '× without DO'
  ]
  const cells = rows.map((row) => [
    row.server,
    row.algorithm,
    row.what,
    shown(row.signatures, 2),
    ...[row.raw, row.signed, row.unsigned].map((micros) => shown(micros, 1)),
    ...[row.toRaw, row.addedToRaw, row.toBoth, row.toUnsigned].map((ratio) => shown(ratio, 2))
  ])
  return table(head, cells)
}

/** A number with so many digits behind the point; a dash for none. */
export function shown(number: number | undefined, digits = 0): string {
  return number === undefined ? '–' : number.toFixed(digits)
}
