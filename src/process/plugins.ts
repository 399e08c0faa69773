/** `skein plugins`: what there is, without importing any package. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type InstalledPackage, installedPackages } from '../chain/installed.js'
import { isBuiltIn, loadPlugin } from '../chain/load.js'
import { PLUGIN } from '../chain/named-plugin.js'
import { BUILT_IN, directiveName, STANDARD_ORDER } from '../chain/order.js'
import { CHAIN_SCHEMAS, readSaid } from '../chain/said.js'
import { ConfigError, Directive, placeText } from '../corefile/directive.js'
import { optionTable } from '../corefile/option-table.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import { oneLine } from '../message/one-line.js'

/** Where plugins are looked for. */
export interface PluginSources {
  /** The configuration's folder. */
  readonly folder: string
  /** The configuration's `plugin` lines. */
  readonly lines: readonly Directive[]
}

/** A plugin that could be used. */
interface Listed {
  readonly directive: string
  readonly about: string
}

/** A package of one that is installed. */
interface Installed extends InstalledPackage {
  readonly version: string
  readonly about: string
}

/**
 * All plugins: Skein's own in the order of a chain, those of packages that the configuration's folder sees, those that the
 * configuration names, and those yet to come.
 */
export async function pluginList({ folder, lines }: PluginSources, isJson: boolean): Promise<string> {
  const builtIn = await builtInPlugins()
  const installed = installedPackages(folder).map((each): Installed => ({ ...each, ...aboutPackage(each.folder) }))
  // The same line may stand in several server blocks.
  const named = [...new Map(lines.map(namedBy).map((each) => [each.spec, each])).values()]
  const later = STANDARD_ORDER.filter((name) => !BUILT_IN.includes(name))
    .map(directiveName)
    .sort()
  if (isJson) return `${JSON.stringify({ builtIn, installed, named, later }, undefined, 2)}\n`
  return [
    'Skein’s own, in the order in which a query meets them:',
    ...columns(builtIn.map(({ directive, about }) => [directive, about])),
    '',
    'Of the chain itself, in any server block:',
    ...columns([...CHAIN_SCHEMAS].map(([directive, { about }]) => [directive, about])),
    '',
    installed.length === 0
      ? 'From npm: none is installed here. For a directive NAME: npm install skein-plugin-NAME'
      : 'From npm, not imported:',
    ...columns(installed.map(({ directive, version, about, folder: at }) => [directive, version, about, at])),
    '',
    ...(named.length === 0
      ? []
      : ['Named by the configuration, not imported:', ...columns(named.map((each) => [each.spec, placeText(each)])), '']),
    `CoreDNS has these too, Skein not yet: ${later.join(', ')}`,
    '',
    'skein plugins NAME prints what a directive takes.',
    ''
  ].join('\n')
}

/**
 * What the plugin of a directive takes. A third party's is imported for it, and those that the configuration names are; `warn` is
 * told of lines that are wrong. Throws ConfigError where there is none.
 */
export async function pluginText(directive: string, sources: PluginSources, warn: (text: string) => void): Promise<string> {
  const schema = CHAIN_SCHEMAS.get(directive) ?? (await schemaOf(directive, sources, warn))
  return `${directive}: ${schema.about}\n\n${optionTable(schema)}\n`
}

async function schemaOf(name: string, { folder, lines }: PluginSources, warn: (text: string) => void): Promise<Schema> {
  // No file has this line.
  const at = { file: '', line: 1, column: 1 }
  try {
    const named = isBuiltIn(name) ? new Map() : (await readSaid(lines, folder, ({ message }) => warn(message))).plugins
    const { plugin } = await loadPlugin(new Directive(name, [], at, ['.']), folder, named)
    return plugin.schema ?? { about: 'Takes nothing.' }
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(error.problem, undefined, { cause: error }) : error
  }
}

async function builtInPlugins(): Promise<Listed[]> {
  const names = STANDARD_ORDER.filter((name) => BUILT_IN.includes(name)).map(directiveName)
  return Promise.all(
    names.map(async (directive) => ({ directive, about: (await schemaOf(directive, { folder: '/', lines: [] }, () => {})).about }))
  )
}

/** What a `plugin` line names, as far as it can be read. */
function namedBy(directive: Directive): { spec: string; file: string; line: number } {
  const { file, line } = directive.at
  try {
    return { spec: oneLine(readBySchema(directive, PLUGIN).args[0]), file, line }
  } catch (error) {
    if (error instanceof ConfigError) return { spec: oneLine(directive.args.join(' ')), file, line }
    throw error
  }
}

/** What a package says of itself; anybody may have written it. */
function aboutPackage(folder: string): { version: string; about: string } {
  const { version, description } = manifestOf(folder)
  return { version: textOr(version), about: textOr(description) }
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : ''
}

function manifestOf(folder: string): { version?: unknown; description?: unknown } {
  try {
    return { ...(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as object | null) }
  } catch {
    // A broken package is told of when it is used.
    return {}
  }
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]!.length))
  return rows.map((row) => `  ${row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(width(column)))).join('  ')}`)
}
