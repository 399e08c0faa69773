import type { Variables } from './environment.js'

/** What a Corefile may refer to outside of itself. Paths hang on the working directory; failures are thrown as `node:fs` does. */
export interface Outside {
  readonly readFile: (path: string) => Buffer
  /** The names in a folder, in any order. */
  readonly readFolder: (path: string) => readonly string[]
  readonly variables: Variables
}

/** No file and no variable: for Corefiles that stand alone. */
export const nothingOutside: Outside = { readFile: missing, readFolder: missing, variables: {} }

function missing(path: string): never {
  throw Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' })
}

/** Why reading a path has failed, in words; rethrows what is no failure of the file system. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error) || typeof (error as NodeJS.ErrnoException).code !== 'string') throw error
  if (isMissing(error)) return 'there is no such file'
  const { code } = error as NodeJS.ErrnoException
  return code === 'EACCES' ? 'no permission' : code === 'EISDIR' ? 'it is a folder' : error.message
}

/** Whether reading has failed since there is nothing at that path. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
