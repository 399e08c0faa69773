import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ConfigError, type Directive, nearest, shown } from '../corefile/directive.js'
import { isError, thrownText } from '../message/one-line.js'
import type { Plugin } from '../plugin.js'
import { checkPlugin, DIRECTIVE_NAME } from './check-plugin.js'
import { installedPackages } from './installed.js'
import { BUILT_IN, CHAIN_DIRECTIVES, directiveName, pluginName, SPELLINGS, STANDARD_ORDER } from './order.js'
import { thrownAt } from './thrown-at.js'

/** A plugin that was imported. */
export interface Loaded {
  readonly plugin: Plugin
  /** Where it came from: the URL of a third party's; undefined for a built-in one. */
  readonly url?: string
  /** The line that names it, where one does. */
  readonly directive?: Directive
}

/**
 * The plugin behind a directive: a built-in one, one that the operator has named, else the npm package `skein-plugin-NAME` as
 * seen from the Corefile's folder, then from where Skein is installed. All are imported the same way.
 */
export async function loadPlugin(
  directive: Directive,
  corefileFolder: string,
  named: ReadonlyMap<string, Loaded> = new Map()
): Promise<Loaded> {
  const { name, at } = directive
  if (isBuiltIn(name)) return { plugin: checkOwn(await import(builtInUrl(pluginName(name))), pluginName(name), directive) }
  const said = named.get(name)
  if (said !== undefined) return said
  const url = urlOf(directive, corefileFolder)
  if (url === undefined) throw new ConfigError(missing(name, corefileFolder, named), at)
  return { plugin: checkOwn(await importPlugin(url, `skein-plugin-${name}`, directive), name, directive), url }
}

/** Whether a plugin of Skein's own is behind a directive. */
export function isBuiltIn(directive: string): boolean {
  const plugin = pluginName(directive)
  return BUILT_IN.includes(plugin) && directiveName(plugin) === directive
}

/** What a plugin of Skein's own is imported from. */
export function builtInUrl(plugin: string): string {
  return new URL(`../../plugins/${plugin}/index.js`, import.meta.url).href
}

/** Where the package `skein-plugin-NAME` of a directive is; undefined where it is nowhere. */
export function urlOf(directive: Directive, corefileFolder: string): string | undefined {
  const { name } = directive
  return DIRECTIVE_NAME.test(name) ? packageUrl(`skein-plugin-${name}`, corefileFolder, directive) : undefined
}

/** Imports a plugin's module; `spec` is how messages call it. */
export async function importPlugin(url: string, spec: string, { name, at }: Directive): Promise<{ default?: unknown }> {
  try {
    return await import(url)
  } catch (error) {
    throw new ConfigError(`${name}: ${spec} cannot be loaded: ${reasonOf(error, url)}`, at, { cause: error })
  }
}

/** Where a package is, seen from the Corefile's folder, then from where Skein is installed; undefined where it is nowhere. */
export function packageUrl(spec: string, folder: string, { name, at }: Directive): string | undefined {
  for (const from of [join(folder, 'Corefile'), import.meta.url]) {
    try {
      return pathToFileURL(createRequire(from).resolve(spec)).href
    } catch (error) {
      // Without a path it is the package itself that is missing, and not what its `main` names.
      const { code, path } = error as NodeJS.ErrnoException
      if (code === 'MODULE_NOT_FOUND' && path === undefined) continue
      throw new ConfigError(`${name}: ${spec} cannot be loaded: ${reasonOf(error)}`, at, { cause: error })
    }
  }
  return undefined
}

function reasonOf(error: unknown, url?: string): string {
  if (!isError(error)) return thrownText(error)
  // Node's words for it are long, and name the one condition that it looked for.
  if (error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') {
    return 'the `exports` of its package.json must be a path, or have `default`'
  }
  const text = thrownText(error)
  if (url === undefined) return text
  const place = thrownAt(error, url)
  if (place !== undefined) return `${text} (at ${place})`
  // For modules Node keeps the place to itself, unless the error ends the process.
  return error instanceof SyntaxError ? `${text} (node --check ${fileURLToPath(url)} shows where)` : text
}

/** The directive that is most likely meant, among those that there are here. */
export function nearDirective(name: string, folder: string, named: ReadonlyMap<string, Loaded>): string | undefined {
  if (BUILT_IN.includes(name)) return directiveName(name)
  const installed = installedPackages(folder).map(({ directive }) => directive)
  return nearest(name, [...BUILT_IN.map(directiveName), ...CHAIN_DIRECTIVES, ...named.keys(), ...installed])
}

function missing(name: string, folder: string, named: ReadonlyMap<string, Loaded>): string {
  const empty = installedPackages(folder).find(({ directive }) => directive === name)
  if (empty === undefined) return unknown(name, nearDirective(name, folder, named))
  return `${name}: there is nothing to import in ${empty.folder}, expected an index.js, or \`exports\` in its package.json`
}

function unknown(name: string, near: string | undefined): string {
  if (name === 'import') return 'import: takes in a file or a snippet, in a Corefile; it is no plugin'
  if (name === 'pprof') return 'pprof: Skein does not have this directive of CoreDNS: Node has a profiler of its own, see docs/profiling.md'
  if (SPELLINGS.has(name) || (STANDARD_ORDER.includes(name) && directiveName(name) === name))
    return `${name}: CoreDNS has this directive, Skein does not have it yet`
  // A slip must not be an invitation to install a package of that name.
  if (near !== undefined) return `unknown directive ${shown(name)}: did you mean ${near}?`
  if (!DIRECTIVE_NAME.test(name)) return `${shown(name)} is no directive: a name has lower-case letters, digits, "-" and "_"`
  const known = BUILT_IN.map(directiveName).sort().join(', ')
  return `unknown directive ${shown(name)}: known are ${known}. For a plugin from npm: npm install skein-plugin-${name}`
}

/** Checks a plugin that its directive has found: by its name, or by the spellings that it has. */
function checkOwn(module: { default?: unknown }, name: string, directive: Directive): Plugin {
  const checked = checkPlugin(module, name, directive.at, name)
  const directives = checked.directives ?? [name]
  if (!directives.includes(directive.name))
    throw new ConfigError(`${directive.name}: its plugin ${name} is configured by ${directives.join(', ')}`, directive.at)
  return checked
}
