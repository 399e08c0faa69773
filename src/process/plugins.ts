/** `skein plugins`: what there is, without importing any package. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadPlugin } from '../chain/load.js'
import { BUILT_IN, directiveName, STANDARD_ORDER } from '../chain/order.js'
import { CHAIN_SCHEMAS } from '../chain/said.js'
import { ConfigError, Directive } from '../corefile/directive.js'
import { optionTable } from '../corefile/option-table.js'
import type { Schema } from '../corefile/schema.js'

/** A plugin that could be used. */
interface Listed {
  readonly directive: string
  readonly about: string
}

/** A package of one that is installed. */
interface Installed {
  readonly directive: string
  readonly package: string
  readonly version: string
  readonly about: string
  readonly folder: string
}

/** All plugins: Skein's own in the order of a chain, those of packages that the configuration's folder sees, and those yet to come. */
export async function pluginList(folder: string, isJson: boolean): Promise<string> {
  const builtIn = await builtInPlugins()
  const installed = installedPlugins(folder)
  const later = STANDARD_ORDER.filter((name) => !BUILT_IN.includes(name))
    .map(directiveName)
    .sort()
  if (isJson) return `${JSON.stringify({ builtIn, installed, later }, undefined, 2)}\n`
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
    `CoreDNS has these too, Skein not yet: ${later.join(', ')}`,
    '',
    'skein plugins NAME prints what a directive takes.',
    ''
  ].join('\n')
}

/** What the plugin of a directive takes. A third party's is imported for it. Throws ConfigError where there is none. */
export async function pluginText(directive: string, folder: string): Promise<string> {
  const schema = CHAIN_SCHEMAS.get(directive) ?? (await schemaOf(directive, folder))
  return `${directive}: ${schema.about}\n\n${optionTable(schema)}\n`
}

async function schemaOf(name: string, folder: string): Promise<Schema> {
  // No file has this line.
  const at = { file: '', line: 1, column: 1 }
  try {
    const { plugin } = await loadPlugin(new Directive(name, [], at, ['.']), folder)
    return plugin.schema ?? { about: 'Takes nothing.' }
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(error.problem, undefined, { cause: error }) : error
  }
}

async function builtInPlugins(): Promise<Listed[]> {
  const names = STANDARD_ORDER.filter((name) => BUILT_IN.includes(name)).map(directiveName)
  return Promise.all(names.map(async (directive) => ({ directive, about: (await schemaOf(directive, '/')).about })))
}

/** The packages that `import` would find from the folder, then from where Skein is; the nearest of each name. */
function installedPlugins(folder: string): Installed[] {
  const folders = [...modulesAbove(folder), ...modulesAbove(dirname(fileURLToPath(import.meta.url)))]
  const found = folders.flatMap((modules) => namesIn(modules).map((name) => ({ name, folder: join(modules, name) })))
  const nearest = new Map(found.toReversed().map((each) => [each.name, each.folder]))
  return [...nearest].map(([name, at]) => installedAt(name, at)).sort((a, b) => (a.directive < b.directive ? -1 : 1))
}

function installedAt(name: string, folder: string): Installed {
  const { version = '', description = '' } = manifestOf(folder)
  return { directive: name.slice('skein-plugin-'.length), package: name, version, about: description, folder }
}

function modulesAbove(folder: string): string[] {
  const folders: string[] = []
  for (let at = folder; ; at = dirname(at)) {
    folders.push(join(at, 'node_modules'))
    if (dirname(at) === at) return folders
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.startsWith('skein-plugin-'))
  } catch {
    // Most folders have none.
    return []
  }
}

function manifestOf(folder: string): { version?: string; description?: string } {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version?: string; description?: string }
  } catch {
    // A broken package is told of when it is used.
    return {}
  }
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]!.length))
  return rows.map((row) => `  ${row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(width(column)))).join('  ')}`)
}
