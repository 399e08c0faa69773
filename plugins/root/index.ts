import { statSync } from 'node:fs'
import { type Plugin, rootFolder, type Schema } from 'skein/plugin'

const schema = {
  about: "Has relative paths of a server block hang on a folder of their own instead of the Corefile's.",
  args: [{ name: 'DIR', type: 'path', about: "the folder; a relative one hangs on the Corefile's" }]
} as const satisfies Schema

/** Has relative paths of a server block hang on a folder of their own instead of the Corefile's. */
export default {
  name: 'root',
  api: 1,
  schema,
  setup({ args: [name], fail }, host) {
    const folder = host.resolvePath(name)
    const kind = kindOf(folder)
    if (kind === 'missing') host.log.warn(`there is no folder ${folder} yet; relative paths hang on it all the same`)
    else if (kind !== 'folder') fail(`expected a folder, and ${folder} ${kind}`)
    host.set(rootFolder, folder)
    return {}
  }
} satisfies Plugin<typeof schema>

/** What is there: `folder`, `missing`, or in words what is wrong with it. */
function kindOf(path: string): string {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) return 'missing'
    return found.isDirectory() ? 'folder' : 'is none'
  } catch (error) {
    return `cannot be reached (${(error as NodeJS.ErrnoException).code})`
  }
}
