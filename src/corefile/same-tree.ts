import type { Directive } from './directive.js'
import type { ServerBlock } from './parser.js'

/** Whether two configurations say the same: their keys, names, words and blocks, in order. */
export function isSameTree(one: readonly ServerBlock[], other: readonly ServerBlock[]): boolean {
  return JSON.stringify(treeOf(one)) === JSON.stringify(treeOf(other))
}

/** What server blocks say, without places. */
export function treeOf(blocks: readonly ServerBlock[]): unknown {
  return blocks.map(({ keyTexts, directives }) => [keyTexts, directives.map(lineOf)])
}

function lineOf({ name, args, block }: Directive): unknown {
  return [name, args, block?.map(lineOf) ?? null]
}
