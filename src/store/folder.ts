import { accessSync, constants, existsSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { lockFiles } from './lock.js'
import { StoreError } from './store.js'
import { faultOfFile } from './store-file.js'

/** The database in a store's folder. */
export const STORE_FILE = 'data.mdb'

const known = new Set([STORE_FILE, `${STORE_FILE}-lock`, `${STORE_FILE}.new`, `${STORE_FILE}.new-lock`, ...lockFiles])

/** Makes the folder, or sees that it is one that a store may be in. */
export function prepareFolder(folder: string): void {
  if (!checkFolder(folder)) makeFolder(folder)
}

/** Whether there is a folder. Throws StoreError where no store may be in it; makes and opens nothing. */
export function checkFolder(folder: string): boolean {
  const found = lookAt(folder)
  if (found === undefined) return false
  if (!found.isDirectory()) throw new StoreError(`the store folder ${folder} is not a folder: move that file away, or name another folder`)
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StoreError(
      `the store folder ${folder} is not writable for this user (${codeOf(error)}): give it to the user that runs Skein`,
      {
        cause: error
      }
    )
  }
  const foreign = readdirSync(folder).filter((name) => !isKnown(name))
  if (foreign.length > 0 && !existsSync(join(folder, STORE_FILE)))
    throw new StoreError(`the store folder ${folder} holds other files (${foreign[0]}) and no Skein store: name an empty folder`)
  return true
}

/** Throws StoreError where a folder that is missing cannot be made. */
export function checkMakeable(folder: string): void {
  let above = dirname(folder)
  while (!existsSync(above)) above = dirname(above)
  try {
    if (!statSync(above).isDirectory()) throw Object.assign(new Error(above), { code: 'ENOTDIR' })
    accessSync(above, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StoreError(`the store folder ${folder} cannot be made (${codeOf(error)}): make it, or name another folder`, { cause: error })
  }
}

/** Sees that the database, where there is one, can be mapped without ending the process. */
export function checkFile(folder: string): void {
  const path = join(folder, STORE_FILE)
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isFile()) throw new StoreError(`${path} is not a file: name another store folder`)
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw new StoreError(`${path} is not writable for this user (${codeOf(error)}): give it to the user that runs Skein`, { cause: error })
  }
  const fault = faultOfFile(path)
  if (fault !== undefined)
    throw new StoreError(`${path} is no whole Skein store (${fault}): put back a copy of it, or move it away to begin with an empty store`)
}

function lookAt(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })
  } catch (error) {
    throw new StoreError(`the store folder ${folder} cannot be reached (${codeOf(error)}): give this user the folders above it`, {
      cause: error
    })
  }
}

function makeFolder(folder: string): void {
  try {
    // One by one: where nothing can be made, as below /proc, Node's own way of making them all never ends.
    const missing: string[] = []
    for (let at = folder; !existsSync(at); at = dirname(at)) missing.unshift(at)
    for (const each of missing) mkdirSync(each, { mode: 0o700 })
  } catch (error) {
    throw new StoreError(`the store folder ${folder} cannot be made (${codeOf(error)}): make it, or name another folder`, { cause: error })
  }
}

function isKnown(name: string): boolean {
  // A takeover that was killed leaves a socket that is set aside.
  return known.has(name) || /^control\.sock\.\d+$/.test(name) || name === 'lost+found'
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}

/** Which file the database of a store is: another one where it was deleted or replaced. Undefined where there is none. */
export function identityOfFile(folder: string): string | undefined {
  const found = statSync(join(folder, STORE_FILE), { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
