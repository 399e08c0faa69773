/** What an operator says of plugins, in any server block and for all of them: `plugin SPEC`, `order NAME before|after NAME`. */
import { ConfigError, type Directive, placeFrom, shown } from '../corefile/directive.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import { attempting, type ReportError } from './attempt.js'
import type { Loaded } from './load.js'
import { namedPlugin, PLUGIN } from './named-plugin.js'
import { BUILT_IN, pluginName } from './order.js'
import { ORDER, OrderLines, type Put } from './order-lines.js'

/** What they take. */
export const CHAIN_SCHEMAS: ReadonlyMap<string, Schema> = new Map<string, Schema>([
  ['plugin', PLUGIN],
  ['order', ORDER]
])

/** All of it. */
export interface Said {
  /** Plugins by the directives that they are configured by. */
  readonly plugins: ReadonlyMap<string, Loaded>
  /** By plugin name. */
  readonly order: ReadonlyMap<string, Put>
  /** The lines whose plugins were not imported, since only built-in ones are, or since they are wrong. */
  readonly unread: readonly Directive[]
}

/** Nothing. */
export const NOTHING_SAID: Said = { plugins: new Map(), order: new Map(), unread: [] }

/**
 * Reads the lines of all server blocks and imports the plugins that they name. What is wrong with a line is reported, and the
 * others are read; without `report` it is thrown.
 */
export async function readSaid(directives: readonly Directive[], folder: string, report?: ReportError): Promise<Said> {
  const attempt = attempting(report)
  const named = new NamedPlugins()
  const unread: Directive[] = []
  for (const directive of directives.filter(({ name }) => name === 'plugin')) {
    let isRead = false
    await attempt(async () => {
      const { spec, loaded } = await namedPlugin(directive, folder)
      named.add(spec, loaded, directive)
      isRead = true
    })
    if (!isRead) unread.push(directive)
  }
  return { plugins: named.byDirective, order: await readOrder(directives, report), unread }
}

/** The same where only built-in plugins are imported. */
export async function readSaidUnread(directives: readonly Directive[], report?: ReportError): Promise<Said> {
  const attempt = attempting(report)
  const unread = directives.filter(({ name }) => name === 'plugin')
  for (const directive of unread) await attempt(() => readBySchema(directive, PLUGIN))
  return { plugins: new Map(), order: await readOrder(directives, report), unread }
}

async function readOrder(directives: readonly Directive[], report: ReportError | undefined): Promise<ReadonlyMap<string, Put>> {
  const attempt = attempting(report)
  const lines = new OrderLines()
  for (const directive of directives.filter(({ name }) => name === 'order')) await attempt(() => lines.add(directive))
  return lines.places
}

/** The plugins of `plugin` lines, by their directives. */
class NamedPlugins {
  readonly byDirective = new Map<string, Loaded>()
  readonly #lines = new Map<string, { readonly spec: string; readonly directive: Directive }>()

  /** Throws ConfigError where somebody else has one of its directives. */
  add(spec: string, loaded: Loaded, directive: Directive): void {
    const spellings = loaded.plugin.directives ?? [loaded.plugin.name]
    for (const spelling of spellings) {
      if (BUILT_IN.includes(pluginName(spelling)) || CHAIN_SCHEMAS.has(spelling))
        throw new ConfigError(`plugin: ${shown(spec)} is configured by ${spelling}, which is a directive of Skein`, directive.at)
      const before = this.#lines.get(spelling)
      // The same line in several server blocks says the same.
      if (before !== undefined && before.spec !== spec)
        directive.fail(`${placeFrom(before.directive.at, directive.at)} names another plugin for the directive ${spelling}`)
    }
    for (const spelling of spellings) {
      this.byDirective.set(spelling, loaded)
      this.#lines.set(spelling, { spec, directive })
    }
  }
}
