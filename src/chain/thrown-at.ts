/** Where in a plugin's own files something was thrown, for its author. */
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stackOf } from '../message/one-line.js'

/** Where Skein's own code is. */
const OWN = fileURLToPath(new URL('../../', import.meta.url))

/** A line of a stack, or the place that Node puts before an error of syntax: `    at f (file:///a/b.js:3:9)`, `/a/b.js:3`. */
const FRAME = /^(?:\s+at (?:async )?(?:.*?\()?)?((?:file:\/\/)?\/.+?):(\d+)(?::\d+)?\)?$/

/** Where a plugin's own files are. */
export interface PluginFiles {
  /** What was imported. */
  readonly file: string
  /** Its package. */
  readonly folder: string
}

/** The files of a plugin that was imported from there; undefined where they are gone. */
export function filesOf(url: string): PluginFiles | undefined {
  try {
    // Links are followed by Node, and so the stack has none.
    const file = realpathSync(fileURLToPath(url))
    return { file, folder: packageFolder(file) }
  } catch {
    return undefined
  }
}

/** The first place of an error's stack that is in one of these plugins, as `index.js:12`; undefined where there is none. */
export function thrownAmong<T extends PluginFiles>(error: unknown, plugins: readonly T[]): { plugin: T; place: string } | undefined {
  if (plugins.length === 0) return undefined
  for (const { path, line } of framesOf(stackOf(error) ?? '')) {
    // Several plugins may stand in files of one folder.
    const plugin = plugins.find(({ file }) => file === path) ?? plugins.find(({ folder }) => isWithin(path, folder))
    if (plugin !== undefined) return { plugin, place: `${relative(plugin.folder, path)}:${line}` }
  }
  return undefined
}

/** The same for one plugin. */
export function thrownAt(error: unknown, url: string): string | undefined {
  const files = filesOf(url)
  return files === undefined ? undefined : thrownAmong(error, [files])?.place
}

interface Frame {
  readonly path: string
  readonly line: string
}

function framesOf(stack: string): Frame[] {
  return stack.split('\n').flatMap((text) => {
    const [, where, line] = FRAME.exec(text) ?? []
    if (where === undefined || line === undefined) return []
    const path = where.startsWith('/') ? where : pathOf(where)
    return path === undefined ? [] : [{ path, line }]
  })
}

function isWithin(path: string, folder: string): boolean {
  const inside = relative(folder, path).split(sep)
  return inside[0] !== '..' && !inside.includes('node_modules') && !(isBelow(path, OWN) && !isBelow(folder, OWN))
}

/** The folder of the package that a file belongs to; its own folder where it is of none, or of Skein's. */
function packageFolder(file: string): string {
  for (let folder = dirname(file); dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, 'package.json'))) return isBelow(OWN, folder) ? dirname(file) : folder
  return dirname(file)
}

function pathOf(url: string): string | undefined {
  try {
    return fileURLToPath(url.replace(/[?#].*$/, ''))
  } catch {
    return undefined
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
