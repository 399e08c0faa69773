import { posix } from 'node:path'
import type { Variables } from './environment.js'
import type { Outside } from './outside.js'

/** Files and an environment that are in memory only, for tests. Paths are relative to the working directory, or absolute. */
export function memoryOutside(files: Readonly<Record<string, string | Buffer>>, variables: Variables = {}): Outside {
  const contents = new Map(Object.entries(files).map(([path, text]) => [posix.resolve(path), Buffer.from(text)]))
  const namesIn = (path: string): string[] => {
    const folder = posix.resolve(path).replace(/\/?$/, '/')
    const below = [...contents.keys()].filter((each) => each.startsWith(folder))
    return [...new Set(below.map((each) => each.slice(folder.length).split('/')[0]!))]
  }
  return {
    readFile: (path) => contents.get(posix.resolve(path)) ?? fail(namesIn(path).length > 0 ? 'EISDIR' : 'ENOENT', path),
    readFolder: (path) => {
      if (contents.has(posix.resolve(path))) return fail('ENOTDIR', path)
      const names = namesIn(path)
      return names.length > 0 ? names : fail('ENOENT', path)
    },
    variables
  }
}

function fail(code: string, path: string): never {
  throw Object.assign(new Error(`${code}: ${path}`), { code })
}
