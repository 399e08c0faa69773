/** What an operator says of plugins, in any server block and for all of them: `plugin SPEC`, `order NAME before|after NAME`. */

import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, type Directive, nearest, shown } from '../corefile/directive.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import { checkPlugin, importPlugin, type Loaded, packageUrl } from './load.js'
import { BUILT_IN, directiveName, pluginName, STANDARD_ORDER } from './order.js'

const PLUGIN = {
  about: 'Names a plugin that is no `skein-plugin-NAME`: a package, or a file.',
  args: [{ name: 'SPEC', type: 'path', about: 'the name of a package such as `@corp/geo`, or a path such as `./mine.js`' }]
} as const satisfies Schema

const ORDER = {
  about: 'Puts a plugin next to another, whatever the standard order says.',
  args: [
    { name: 'NAME', type: 'text' },
    { name: 'SIDE', type: 'choice', of: ['before', 'after'] },
    { name: 'OTHER', type: 'text' }
  ]
} as const satisfies Schema

/** What they take. */
export const CHAIN_SCHEMAS: ReadonlyMap<string, Schema> = new Map<string, Schema>([
  ['plugin', PLUGIN],
  ['order', ORDER]
])

/** Where a plugin was put, by which line. */
export interface Put {
  /** As a place in the standard order. */
  readonly place: number
  readonly directive: Directive
}

/** All of it. */
export interface Said {
  /** Plugins by the directives that they are configured by. */
  readonly plugins: ReadonlyMap<string, Loaded>
  /** By plugin name. */
  readonly order: ReadonlyMap<string, Put>
  /** The lines whose plugins were not imported, since only built-in ones are. */
  readonly unread: readonly Directive[]
}

/** Nothing. */
export const NOTHING_SAID: Said = { plugins: new Map(), order: new Map(), unread: [] }

/** Reads the lines of all server blocks and imports the plugins that they name. Throws ConfigError. */
export async function readSaid(directives: readonly Directive[], folder: string): Promise<Said> {
  const plugins = new Map<string, Loaded>()
  const lines = new Map<string, { spec: string; directive: Directive }>()
  for (const directive of directives.filter(({ name }) => name === 'plugin')) {
    const { spec, loaded } = await namedPlugin(directive, folder)
    const { plugin } = loaded
    for (const spelling of plugin.directives ?? [plugin.name]) {
      if (BUILT_IN.includes(pluginName(spelling)) || CHAIN_SCHEMAS.has(spelling))
        throw new ConfigError(`plugin: ${shown(spec)} is configured by ${spelling}, which is a directive of Skein`, directive.at)
      const before = lines.get(spelling)
      // The same line in several server blocks says the same.
      if (before !== undefined && before.spec !== spec)
        throw new ConfigError(
          `plugin: ${before.directive.at.file}:${before.directive.at.line} names another plugin for the directive ${spelling}`,
          directive.at
        )
      plugins.set(spelling, loaded)
      lines.set(spelling, { spec, directive })
    }
  }
  return { plugins, order: readOrder(directives), unread: [] }
}

/** The same where only built-in plugins are imported. */
export function readSaidUnread(directives: readonly Directive[]): Said {
  const unread = directives.filter(({ name }) => name === 'plugin')
  for (const directive of unread) readBySchema(directive, PLUGIN)
  return { plugins: new Map(), order: readOrder(directives), unread }
}

async function namedPlugin(directive: Directive, folder: string): Promise<{ spec: string; loaded: Loaded }> {
  const [spec] = readBySchema(directive, PLUGIN).args
  const isPath = /^\.{0,2}\//.test(spec) || isAbsolute(spec)
  const url = isPath ? pathToFileURL(resolve(folder, spec)).href : packageUrl(spec, folder, directive)
  if (url === undefined)
    throw new ConfigError(`plugin: there is no package ${spec} here: npm install ${spec}; a file is a path such as ./mine.js`, directive.at)
  const module = await importPlugin(url, spec, directive)
  return { spec, loaded: { plugin: checkPlugin(module, spec, directive), url, directive } }
}

function readOrder(directives: readonly Directive[]): ReadonlyMap<string, Put> {
  const order = new Map<string, Put>()
  for (const directive of directives.filter(({ name }) => name === 'order')) {
    const [name, side, anchor] = readBySchema(directive, ORDER).args
    const index = STANDARD_ORDER.indexOf(pluginName(anchor))
    if (index < 0) {
      const near = nearest(anchor, STANDARD_ORDER.map(directiveName))
      directive.fail(`${shown(anchor)} is no built-in plugin${near === undefined ? '' : `: did you mean ${near}?`}`)
    }
    const place = index + (side === 'before' ? -0.25 : 0.25)
    const before = order.get(pluginName(name))
    if (before !== undefined && before.place !== place)
      directive.fail(`${before.directive.at.file}:${before.directive.at.line} puts ${name} elsewhere, expected it once`)
    order.set(pluginName(name), { place, directive })
  }
  return order
}
