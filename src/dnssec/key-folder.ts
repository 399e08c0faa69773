/** Where key pairs lie: writing a new one into a folder so that no reader ever meets half of it. */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { oneLine } from '../message/one-line.js'
import { generateKeyPair, type KeyTexts } from './key-file.js'
import { KeyProblem } from './key-problem.js'

/** What the codes of the file system say. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'the file system is read-only',
  ENOENT: 'no folder can be made there',
  ENOSPC: 'no space is left',
  EEXIST: 'there is a file where its folder would be',
  ENOTDIR: 'there is a file where its folder would be',
  ENAMETOOLONG: 'the name is too long for a file'
}

/** Makes a key pair for a zone, and writes it into a folder; gives the name of its files without the ending. Throws KeyProblem. */
export async function makeKeyFile(folder: string, zone: string, algorithm: number | string = 13, flags = 257): Promise<string> {
  return (await makeKey(folder, zone, algorithm, flags)).name
}

/**
 * The same; gives all of the pair. The folder is made where it is missing, for this user alone, and so is the private key. Nothing is
 * overwritten: should the tag be one that a key there has, another key is made.
 */
export async function makeKey(folder: string, zone: string, algorithm: number | string, flags: number): Promise<KeyTexts> {
  for (;;) {
    const made = await generateKeyPair(zone, algorithm, flags)
    try {
      makeFolder(folder)
      if (writePair(folder, made)) return made
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === undefined) throw error
      throw new KeyProblem(`cannot write ${oneLine(join(folder, made.name))}: ${REASONS[code] ?? code}`)
    }
  }
}

/** Makes a folder where it is missing, for this user alone, with what is missing above it. */
function makeFolder(folder: string): void {
  const missing: string[] = []
  for (let path = resolve(folder); !existsSync(path); path = dirname(path)) missing.unshift(path)
  for (const path of missing) {
    try {
      // One at a time: `recursive` of Node.js 20 never comes back where the file system has no room for a folder, as /proc.
      mkdirSync(path, { mode: 0o700 })
    } catch (error) {
      // Somebody else may have made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !existsSync(path)) throw error
    }
    syncFolder(dirname(path))
  }
}

/** Writes both files, the private one first: a pair is known by both. False where one of that name is there already. */
export function writePair(folder: string, { name, publicText, privateText }: KeyTexts): boolean {
  const [privateFile, publicFile] = [join(folder, `${name}.private`), join(folder, `${name}.key`)]
  if (!writeNew(privateFile, privateText, 0o600)) return false
  if (writeNew(publicFile, publicText, 0o644)) {
    syncFolder(folder)
    return true
  }
  rmSync(privateFile)
  return false
}

/** Writes a file that is there whole or not at all; false where there is one of that name. */
function writeNew(file: string, text: string, mode: number): boolean {
  const temporary = `${file}.${process.pid}.new`
  rmSync(temporary, { force: true })
  try {
    const descriptor = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    chmodSync(temporary, mode)
    give(temporary, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || existsSync(file)) return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Gives a file its name. Throws with EEXIST where something has it. */
function give(temporary: string, file: string): void {
  try {
    // A link, other than a rename, never takes the place of what is there.
    linkSync(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || existsSync(file)) throw error
    // There are file systems without links.
    renameSync(temporary, file)
  }
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
