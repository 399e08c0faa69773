/** What of the running server a reload can keep: the server blocks that say the same, and what rests on parts that do. */
import { createHash } from 'node:crypto'
import type { Configured } from '../chain/build.js'
import { hashAt } from '../chain/host.js'
import type { BlockScope } from '../chain/scope.js'
import type { Directive } from '../corefile/directive.js'
import type { ServerBlock } from '../corefile/parser.js'
import { treeOf } from '../corefile/same-tree.js'
import { isWithin } from '../message/name.js'
import { rootFolder } from '../plugin.js'
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

/** The zones that are not served where they were: they come, go, or have other ports or addresses. */
export function movedZones(blocks: readonly ServerBlock[], running: readonly BuiltBlock[]): string[] {
  const places = (list: readonly ServerBlock[]): Map<string, string> =>
    new Map(list.flatMap(({ keys, directives }) => keys.map(({ zone, port }) => [JSON.stringify([zone, port, bound(directives)]), zone])))
  const [before, after] = [places(running.map(({ block }) => block)), places(blocks)]
  return [...[...before].filter(([place]) => !after.has(place)), ...[...after].filter(([place]) => !before.has(place))].map(
    ([, zone]) => zone
  )
}

/** Which zones a block serves at which ports and addresses, however that is spelled. No two blocks of a configuration have it in common. */
export function servedPlace({ keys, directives }: ServerBlock): string {
  return JSON.stringify([keys.map(({ zone, port }) => [zone, port]), bound(directives)])
}

function bound(directives: readonly Directive[]): unknown {
  return linesText(directives.filter(({ name }) => name === 'bind'))
}

async function hasSameFiles({ files }: BlockScope): Promise<boolean> {
  for (const { path, hash } of files) {
    if ((await hashAt(path)) !== hash) return false
  }
  return true
}

/**
 * What stands behind a directive in its chain, as a hash: the lines, whose plugins and which files they are, and where the block is, as its
 * look-ups start there. `epoch` tells apart what is the same and rests on something else.
 */
export function behind(configured: readonly Configured[], { block, scope, epoch }: Behind, directive: Directive): string {
  const uses = configured.slice(configured.findIndex((use) => use.directive === directive) + 1)
  const after = uses.map((use) => use.directive)
  const files = scope.files.filter((file) => after.includes(file.directive)).map(({ path, hash }) => [path, hash])
  const plugins = uses.map(({ url }) => url)
  const parts = JSON.stringify([servedPlace(block), linesText(after), plugins, scope.settings.get(rootFolder), files, epoch])
  return createHash('sha256').update(parts).digest('hex')
}

/** The block that {@link behind} is asked of. */
interface Behind {
  readonly block: ServerBlock
  readonly scope: BlockScope
  readonly epoch: number
}

function linesText(directives: readonly Directive[]): unknown {
  return treeOf([{ keys: [], keyTexts: [], directives, at: { file: '', line: 0, column: 0 } }])
}
