/** Plugins that do what a test has them do; used by this folder's tests alone. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'skein-log-'))
const remove = (): void => rmSync(folder, { recursive: true, force: true })
process.on('exit', remove)
// A run of tests ends its processes with this.
process.once('SIGTERM', () => {
  remove()
  process.kill(process.pid, 'SIGTERM')
})

/** A Corefile in the folder of the plugins. */
export const file = join(folder, 'Corefile')

let installed = 0

/** Installs a plugin whose handler is this text; gives its directive. */
export function plugin(handle: string): string {
  const name = `fake-${++installed}`
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(
    join(at, 'index.js'),
    `export default { name: '${name}', api: 1, classes: ['*'], setup: (_config, host) => ({ handle: ${handle} }) }`
  )
  return name
}
