/** Which packages `skein-plugin-NAME` there are, without importing any. */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DIRECTIVE_NAME } from './check-plugin.js'

const PREFIX = 'skein-plugin-'

/** A package of a plugin, by its folder. */
export interface InstalledPackage {
  /** What it is loaded by. */
  readonly directive: string
  readonly package: string
  readonly folder: string
}

/** The packages that `import` would find from the folder, then from where Skein is; the nearest of each name, by their names. */
export function installedPackages(folder: string): InstalledPackage[] {
  const folders = [...modulesAbove(folder), ...modulesAbove(dirname(fileURLToPath(import.meta.url)))]
  const found = folders.flatMap((modules) => namesIn(modules).map((name) => [name, join(modules, name)] as const))
  return [...new Map(found.toReversed())]
    .map(([name, at]) => ({ directive: name.slice(PREFIX.length), package: name, folder: at }))
    .sort((a, b) => (a.directive < b.directive ? -1 : 1))
}

function modulesAbove(folder: string): string[] {
  const folders: string[] = []
  for (let at = folder; ; at = dirname(at)) {
    folders.push(join(at, 'node_modules'))
    if (dirname(at) === at) return folders
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.startsWith(PREFIX) && DIRECTIVE_NAME.test(name.slice(PREFIX.length)))
  } catch {
    // Most folders have none.
    return []
  }
}
