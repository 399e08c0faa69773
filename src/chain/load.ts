import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, type Directive, nearest, shown } from '../corefile/directive.js'
import { classNumber } from '../message/registry.js'
import { API_VERSION, type Plugin } from '../plugin.js'
import { BUILT_IN, directiveName, pluginName, SPELLINGS, STANDARD_ORDER } from './order.js'

/** What a directive may be called. It also keeps paths out of the import below. */
const NAME = /^[a-z][a-z0-9_-]*$/

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
  const folder = pluginName(name)
  if (isBuiltIn(name))
    return { plugin: checkOwn(await import(new URL(`../../plugins/${folder}/index.js`, import.meta.url).href), folder, directive) }
  const said = named.get(name)
  if (said !== undefined) return said
  const url = urlOf(directive, corefileFolder)
  if (url === undefined) throw new ConfigError(unknown(name), at)
  return { plugin: checkOwn(await importPlugin(url, `skein-plugin-${name}`, directive), name, directive), url }
}

/** Whether a plugin of Skein's own is behind a directive. */
export function isBuiltIn(directive: string): boolean {
  const plugin = pluginName(directive)
  return BUILT_IN.includes(plugin) && directiveName(plugin) === directive
}

/** Where the package `skein-plugin-NAME` of a directive is; undefined where it is nowhere. */
export function urlOf(directive: Directive, corefileFolder: string): string | undefined {
  const { name, at } = directive
  if (!NAME.test(name)) throw new ConfigError(`${shown(name)} is no directive: a name has lower-case letters, digits, "-" and "_"`, at)
  return packageUrl(`skein-plugin-${name}`, corefileFolder, directive)
}

/** Imports a plugin's module; `spec` is how messages call it. */
export async function importPlugin(url: string, spec: string, { name, at }: Directive): Promise<{ default?: unknown }> {
  try {
    return await import(url)
  } catch (error) {
    throw new ConfigError(`${name}: ${spec} cannot be loaded: ${reasonOf(error)}`, at, { cause: error })
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

function reasonOf(error: unknown): string {
  // Node's words for it are long, and name the one condition that it looked for.
  if ((error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') {
    return 'the `exports` of its package.json must be a path, or have `default`'
  }
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ')
}

function unknown(name: string): string {
  if (SPELLINGS.has(name) || (STANDARD_ORDER.includes(name) && directiveName(name) === name))
    return `${name}: CoreDNS has this directive, Skein does not have it yet`
  const known = BUILT_IN.map(directiveName)
  const near = BUILT_IN.includes(name) ? directiveName(name) : nearest(name, known)
  // A slip must not be an invitation to install a package of that name.
  if (near !== undefined) return `unknown directive ${shown(name)}: did you mean ${near}?`
  return `unknown directive ${shown(name)}: known are ${known.sort().join(', ')}. For a plugin from npm: npm install skein-plugin-${name}`
}

/** Checks a plugin that its directive has found: by its name, or by the spellings that it has. */
function checkOwn(module: { default?: unknown }, name: string, directive: Directive): Plugin {
  const plugin = module.default as Partial<Plugin> | undefined
  if (typeof plugin?.setup !== 'function' || plugin.name !== name) {
    throw new ConfigError(`${name}: its package does not export a plugin named ${name} by default`, directive.at)
  }
  const checked = checkPlugin(module, name, directive)
  const directives = checked.directives ?? [name]
  if (!directives.includes(directive.name))
    throw new ConfigError(`${directive.name}: its plugin ${name} is configured by ${directives.join(', ')}`, directive.at)
  return checked
}

/** Checks what a module exports; `spec` is how messages call it. */
export function checkPlugin(module: { default?: unknown }, spec: string, { at }: Directive): Plugin {
  const plugin = module.default as Partial<Plugin> | undefined
  if (typeof plugin?.setup !== 'function' || typeof plugin.name !== 'string' || !NAME.test(plugin.name)) {
    throw new ConfigError(`${spec}: it does not export a plugin by default: an object with name, api and setup`, at)
  }
  if (plugin.api !== API_VERSION)
    throw new ConfigError(`${spec}: it speaks plugin interface ${String(plugin.api)}, this Skein speaks ${API_VERSION}`, at)
  if (plugin.classes !== undefined && !Array.isArray(plugin.classes)) throw new ConfigError(`${spec}: its classes must be a list`, at)
  // A class that does not exist would be a plugin that is never asked.
  const odd = plugin.classes?.find((name) => name !== '*' && classNumber(name) === undefined)
  if (odd !== undefined) throw new ConfigError(`${spec}: it asks for questions of class ${shown(odd)}, which is none`, at)
  return plugin as Plugin
}
