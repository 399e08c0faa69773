/** What `skein check` prints for people. */
import { fileURLToPath } from 'node:url'
import { type Place, placeText } from '../corefile/directive.js'
import { shownWord } from '../corefile/print-corefile.js'
import { isWildcard } from '../listen/addresses.js'
import type { Checked } from './check.js'
import { shownFinding } from './finding.js'
import { importedPlugins, type ShownBlock, type ShownLine, shownBlocks } from './shown.js'

interface Row {
  readonly left: string
  readonly right: string
}

/** Server blocks, their chains, and what was found; the last line says whether it would start. */
export function checkText(checked: Checked, defaultPort: number): string {
  const { instance, findings } = checked
  const blocks = instance === undefined ? [] : shownBlocks(instance, defaultPort)
  const lines = blocks.flatMap((block) => [...table(blockRows(block)), ''])
  const imported = instance === undefined ? [] : importedPlugins(instance)
  const said = imported.map(({ directive, url }) => `imported for ${directive}, so its code has run: ${fileURLToPath(url)}`)
  const found = findings.map((finding) => `${finding.severity}: ${shownFinding(finding)}`)
  return `${[...lines, ...said, ...found, verdict(checked)].join('\n')}\n`
}

function verdict({ conf, configuration, findings }: Checked): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const warnings = findings.filter(({ severity }) => severity === 'warning').length
  const counts = [count(errors, 'error'), count(warnings, 'warning')].filter((text) => text !== '').join(', ')
  const what = configuration?.isDefault === true ? "CoreDNS's default, as there is no server block," : (configuration?.file ?? conf)
  return `${what} would ${errors > 0 ? 'not ' : ''}start${counts === '' ? '' : `: ${counts}`}`
}

function count(number: number, what: string): string {
  return number === 0 ? '' : `${number} ${what}${number === 1 ? '' : 's'}`
}

function blockRows({ keys, addresses, at, chain, leftOut }: ShownBlock): Row[] {
  const everywhere = addresses.every(isWildcard)
  const zones = keys.map(({ zone, port }) => (port === undefined ? zone : `${zone}:${port}`)).join(' ')
  return [
    { left: `${zones} on ${everywhere ? 'every address' : addresses.join(', ')}`, right: shownPlace(at) },
    ...chain.flatMap((layer) => lineRows(layer, '  ')),
    ...leftOut.flatMap((line) => lineRows(line, '  ', ' (not imported)'))
  ]
}

function lineRows(line: ShownLine, indent: string, note = ''): Row[] {
  const { name, at, spelled, options } = line
  const words = line.arguments.map((word) => (at === undefined ? word : shownWord(word)))
  const from = spelled === undefined ? '' : ` (${spelled})`
  return [
    { left: `${indent}${[name, ...words].join(' ')}${note}`, right: `${shownPlace(at)}${from}` },
    ...options.flatMap((option) => lineRows(option, `${indent}  `))
  ]
}

function shownPlace(at: Place | undefined): string {
  return at === undefined ? 'default' : placeText(at)
}

/** The right column begins behind the longest line, but for very long ones. */
function table(rows: readonly Row[]): string[] {
  const width = Math.min(60, Math.max(...rows.map(({ left }) => left.length)))
  return rows.map(({ left, right }) => `${left.padEnd(width)}  ${right}`)
}
