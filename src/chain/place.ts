import { ConfigError, type Directive, placeFrom } from '../corefile/directive.js'
import type { Plugin } from '../plugin.js'
import { pluginName, STANDARD_ORDER } from './order.js'
import type { Put } from './order-lines.js'

/** A directive with the plugin that it configures. */
export interface Use {
  readonly directive: Directive
  readonly plugin: Plugin
  /** Of a third party's plugin: where it was imported from. */
  readonly url?: string
}

/** Sorts the uses of a server block into chain order; a third party's plugin stands next to the built-in one that it names, or where the operator puts it. */
export function inOrder(uses: readonly Use[], order: ReadonlyMap<string, Put> = new Map()): Use[] {
  return uses
    .map((use) => [order.get(use.plugin.name)?.place ?? placeOf(use), use] as const)
    .sort(([a], [b]) => a - b)
    .map(([, use]) => use)
}

/** What a plugin wishes was looked at when it was loaded. */
function placeOf({ plugin }: Use): number {
  const place = STANDARD_ORDER.indexOf(plugin.name)
  if (place >= 0) return place
  const { before, after } = (plugin.order ?? { before: 'forward' }) as { before?: string; after?: string }
  return STANDARD_ORDER.indexOf(pluginName(before ?? after ?? '')) + (before === undefined ? 0.5 : -0.5)
}

/** Refuses a directive that stands twice in a server block where its plugin makes one layer. */
export function checkRepeats(uses: readonly Use[]): void {
  const first = new Map<string, Directive>()
  for (const { plugin, directive } of uses) {
    const before = first.get(plugin.name)
    if (before !== undefined && plugin.repeatable !== true) {
      throw new ConfigError(
        `${directive.name}: may stand only once in a server block, and stands in ${placeFrom(before.at, directive.at)} already`,
        directive.at
      )
    }
    first.set(plugin.name, directive)
  }
}
