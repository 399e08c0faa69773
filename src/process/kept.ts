/** What of the running server a reload can keep: the server blocks that say the same, and what rests on parts that do. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Configured } from '../chain/build.js'
import { hashOf } from '../chain/host.js'
import type { BlockScope } from '../chain/scope.js'
import type { Directive } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { treeOf } from '../corefile/same-tree.js'
import { isWithin } from '../message/name.js'
import type { BuiltBlock } from './plan.js'

/** What a server block says, with the lines of all blocks that say how chains are built. */
export function textOf(block: ServerBlock, chainLines: readonly Directive[]): string {
  return JSON.stringify([treeOf([block]), linesText(chainLines)])
}

/** The blocks that can stay as they are, each with the one that runs. */
export async function keptBlocks(
  blocks: readonly ServerBlock[],
  running: readonly BuiltBlock[],
  text: (block: ServerBlock) => string
): Promise<Map<ServerBlock, BuiltBlock>> {
  const byText = new Map(running.map((built) => [built.text, built]))
  const kept = new Map<ServerBlock, BuiltBlock>()
  for (const block of blocks) {
    const built = byText.get(text(block))
    if (built !== undefined && (await hasSameFiles(built.scope))) kept.set(block, built)
  }
  const moved = movedZones(blocks, running)
  // A block that has entered one that changes is a changed one, and so on.
  for (let size = -1; size !== kept.size; ) {
    size = kept.size
    const staying = new Set(kept.values())
    for (const [block, built] of kept) if (hasEnteredChanged(built, running, staying, moved)) kept.delete(block)
  }
  return kept
}

/** Whether a block's look-ups have gone where something changes. */
export function hasEnteredChanged(
  { home }: BuiltBlock,
  running: readonly BuiltBlock[],
  staying: ReadonlySet<BuiltBlock>,
  moved: readonly string[]
): boolean {
  return [...home.entered].some(({ block, apex }) => {
    const target = running.find(({ chain }) => chain === block)
    return target === undefined || !staying.has(target) || moved.some((zone) => isWithin(zone, apex))
  })
}

/** The zones that are served before or after, and not both. */
export function movedZones(blocks: readonly ServerBlock[], running: readonly BuiltBlock[]): string[] {
  const zones = (list: readonly ServerBlock[]): Set<string> => new Set(list.flatMap(({ keys }) => keys.map(({ zone }) => zone)))
  const [before, after] = [zones(running.map(({ block }) => block)), zones(blocks)]
  return [...[...before].filter((zone) => !after.has(zone)), ...[...after].filter((zone) => !before.has(zone))]
}

async function hasSameFiles({ files }: BlockScope): Promise<boolean> {
  for (const { path, hash } of files) {
    const octets = await readFile(path).catch(() => undefined)
    if (octets === undefined || hashOf(octets) !== hash) return false
  }
  return true
}

/** What stands behind a directive in its chain, as a hash; `epoch` tells apart what is the same and rests on something else. */
export function behind(configured: readonly Configured[], scope: BlockScope, epoch: number, directive: Directive): string {
  const index = configured.findIndex((use) => use.directive === directive)
  const after = configured.slice(index + 1).map((use) => use.directive)
  const files = scope.files.filter((file) => after.includes(file.directive)).map(({ path, hash }) => [path, hash])
  const parts = JSON.stringify([directive.zones, linesText(after), files, epoch])
  return createHash('sha256').update(parts).digest('hex')
}

function linesText(directives: readonly Directive[]): unknown {
  return treeOf([{ keys: [], keyTexts: [], directives, at: { file: '', line: 0, column: 0 } }])
}
