import { posix } from 'node:path'
import { isMissing } from './outside.js'

/** A pattern of files as `import` takes it: `*` and `?` stand for characters of one name, a backslash takes their meaning away. */
export interface Pattern {
  /** Whether it has a wildcard, so that it may match no file at all. */
  readonly isGlob: boolean
  /** What is wrong with it, for people. */
  readonly problem: string | undefined
}

/** Looks for wildcards. CoreDNS allows one of each kind, and no classes of characters. */
export function readPattern(text: string): Pattern {
  const wildcards = text.replace(/\\[\s\S]/g, '').replace(/[^*?[]/g, '')
  const count = (wildcard: string): number => wildcards.split(wildcard).length - 1
  let problem: string | undefined
  if (count('[') > 0) problem = 'a [, expected * or ? as wildcards'
  else if (count('*') > 1 || count('?') > 1) problem = 'several wildcards, expected at most one * and one ?'
  return { isGlob: wildcards !== '', problem }
}

/**
 * The paths that a pattern matches below a folder, sorted; just the path itself where it has no wildcard. Unlike in CoreDNS a
 * wildcard does not match the dot that a name starts with: those are the swap files of editors. Throws as `readFolder` does.
 */
export function matchPattern(text: string, folder: string, readFolder: (path: string) => readonly string[]): string[] {
  const names = posix.normalize(text).split('/')
  let paths = [posix.isAbsolute(text) ? '/' : folder]
  let isListed = false
  for (const name of names) {
    isListed ||= readPattern(name).isGlob
    if (isListed) paths = paths.flatMap((path) => namesIn(path, name, readFolder).map((found) => posix.join(path, found)))
    else paths = paths.map((path) => posix.join(path, unescaped(name)))
  }
  return paths
}

function namesIn(path: string, name: string, readFolder: (path: string) => readonly string[]): string[] {
  const pattern = expressionOf(name)
  try {
    return readFolder(path)
      .filter((found) => pattern.test(found))
      .sort()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function expressionOf(name: string): RegExp {
  const source = name.replace(/\\?[\s\S]/gu, (piece) => {
    if (piece === '*') return '.*'
    if (piece === '?') return '.'
    return piece.replace(/^\\(?=[\s\S])/, '').replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  })
  return new RegExp(`^${/^[*?]/.test(name) ? '(?!\\.)' : ''}${source}$`, 'su')
}

function unescaped(name: string): string {
  return name.replace(/\\([\s\S])/g, '$1')
}
