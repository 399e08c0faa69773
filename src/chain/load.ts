import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, type Directive, nearest, shown } from '../corefile/directive.js'
import { classNumber } from '../message/registry.js'
import { API_VERSION, type Plugin } from '../plugin.js'
import { BUILT_IN, directiveName, pluginName, SPELLINGS, STANDARD_ORDER } from './order.js'

/** What a directive may be called. It also keeps paths out of the import below. */
const NAME = /^[a-z][a-z0-9_-]*$/

/**
 * The plugin behind a directive: a built-in one, else the npm package `skein-plugin-NAME` as seen from the Corefile's folder.
 * Both are imported the same way.
 */
export async function loadPlugin(directive: Directive, corefileFolder: string): Promise<Plugin> {
  const { name, at } = directive
  const folder = pluginName(name)
  if (BUILT_IN.includes(folder) && directiveName(folder) === name) {
    return check(await import(new URL(`../../plugins/${folder}/index.js`, import.meta.url).href), folder, directive)
  }
  if (!NAME.test(name)) throw new ConfigError(`${shown(name)} is no directive: a name has lower-case letters, digits, "-" and "_"`, at)
  let module: { default?: unknown }
  try {
    const found = packageUrl(name, corefileFolder)
    if (found === undefined) throw new ConfigError(unknown(name), at)
    module = await import(found)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${name}: skein-plugin-${name} cannot be loaded: ${reasonOf(error)}`, at, { cause: error })
  }
  return check(module, name, directive)
}

/** Where the package is, or undefined where there is none. */
function packageUrl(name: string, folder: string): string | undefined {
  const required = createRequire(join(folder, 'Corefile'))
  try {
    return pathToFileURL(required.resolve(`skein-plugin-${name}`)).href
  } catch (error) {
    // Without a path it is the package itself that is missing, and not what its `main` names.
    const { code, path } = error as NodeJS.ErrnoException
    if (code === 'MODULE_NOT_FOUND' && path === undefined) return undefined
    throw error
  }
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

function check(module: { default?: unknown }, name: string, { at, name: directive }: Directive): Plugin {
  const plugin = module.default as Partial<Plugin> | undefined
  if (typeof plugin?.setup !== 'function' || plugin.name !== name) {
    throw new ConfigError(`${name}: its package does not export a plugin named ${name} by default`, at)
  }
  if (plugin.api !== API_VERSION)
    throw new ConfigError(`${name}: it speaks plugin interface ${String(plugin.api)}, this Skein speaks ${API_VERSION}`, at)
  const directives = plugin.directives ?? [plugin.name]
  if (!directives.includes(directive))
    throw new ConfigError(`${directive}: its plugin ${name} is configured by ${directives.join(', ')}`, at)
  // A class that does not exist would be a plugin that is never asked.
  if (plugin.classes !== undefined && !Array.isArray(plugin.classes)) throw new ConfigError(`${name}: its classes must be a list`, at)
  const odd = plugin.classes?.find((klass) => klass !== '*' && classNumber(klass) === undefined)
  if (odd !== undefined) throw new ConfigError(`${name}: it asks for questions of class ${shown(odd)}, which is none`, at)
  return plugin as Plugin
}
