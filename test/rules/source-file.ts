import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A file of the repository: its path from the root, with slashes, and its text. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** A rule: one line for each offence, which begins with the path of the file. */
export type Rule = (files: readonly SourceFile[]) => string[]

/** The repository's root; this file runs compiled, from dist/test/rules. */
export const root = fileURLToPath(new URL('../../../', import.meta.url))

const ours = ['src', 'plugins', 'test', 'bench', 'fuzz', 'docs', '.ci']

/** Every text file of the repository that we wrote; the conformance data are not ours. */
export function repositoryFiles(): SourceFile[] {
  const top = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isFile() && entry.name !== 'package-lock.json')
  const inFolders = ours.flatMap((folder) => readFolder(folder)).filter(({ path }) => !path.startsWith('test/conformance/'))
  return [...top.map((entry) => readFile(entry.name)), ...inFolders]
}

/** All files below a folder, with paths from `base`; none where there is no such folder. */
export function readFolder(folder: string, base = root): SourceFile[] {
  const entries = list(join(base, folder))
  return entries.flatMap((entry) => {
    if (entry.name === 'node_modules') return []
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? readFolder(path, base) : [readFile(path, base)]
  })
}

/** Whether the file holds code that people write: TypeScript, or JavaScript of the set-up. */
export function isCode({ path }: SourceFile): boolean {
  return /^(src|plugins|test|bench|fuzz)\/.*\.(ts|mjs)$/.test(path)
}

/** Whether the file is a test. */
export function isTest({ path }: SourceFile): boolean {
  return path.endsWith('.test.ts')
}

function readFile(path: string, base = root): SourceFile {
  return { path, text: readFileSync(join(base, path), 'utf8') }
}

function list(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
