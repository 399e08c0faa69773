import { posix, resolve } from 'node:path'
import { isBare, type Reading, refuse, type Source } from './cursor.js'
import { nearest, placeText, shown } from './directive.js'
import { origin } from './environment.js'
import { matchPattern, readPattern } from './glob.js'
import { readTokens, type Token } from './lexer.js'
import { isMissing, type Outside, reasonOf } from './outside.js'
import type { Warnings } from './warnings.js'

/** A file that the configuration was read from, with its exact octets. */
export interface ConfigurationFile {
  /** As messages show it: relative to the working directory where the Corefile was named so. */
  readonly path: string
  readonly octets: Buffer
}

/** How deep imports may stand in imports. */
const MAX_DEPTH = 100
/** Imports of imports grow by powers. These bounds are far above any configuration and below what exhausts the memory. */
const MAX_IMPORTS = 100_000
const MAX_REPEATED_WORDS = 1_000_000

/** The snippets and files that imports put in their places. */
export class Imports {
  readonly #outside: Outside
  readonly #warnings: Warnings
  readonly #snippets = new Map<string, Source>()
  readonly #files = new Map<string, Source>()
  readonly #read: ConfigurationFile[] = []
  readonly #used = new Set<Source>()
  #imports = 0
  #repeatedWords = 0

  constructor(outside: Outside, warnings: Warnings) {
    this.#outside = outside
    this.#warnings = warnings
  }

  /** Every file read, the Corefile first, each once. */
  get files(): readonly ConfigurationFile[] {
    return this.#read
  }

  /** What the name of an `import` stands for, in the order in which it is to be read. `above` is where the import stands. */
  find(name: Token, above: Reading): Source[] {
    const sources = this.#sourcesOf(name)
    for (const source of sources) this.#check(source, above, name)
    return sources
  }

  /** Makes a file known that was read already. Throws ConfigError where it is no text. */
  addFile(path: string, text: string | Buffer): Source {
    const octets = Buffer.from(text)
    this.#read.push({ path, octets })
    const source = { name: path, tokens: readTokens(octets, path) }
    this.#files.set(resolve(path), source)
    return source
  }

  /** Fails where the name of a snippet is taken. */
  checkName(name: string, token: Token): void {
    const first = this.#snippets.get(name)
    if (first !== undefined) refuse(token, `the snippet (${name}) stands twice, expected another name`)
  }

  /** Makes a snippet known to the imports that follow it. */
  define(name: string, tokens: readonly Token[]): void {
    this.#snippets.set(name, { name: `(${name})`, tokens })
  }

  #sourcesOf(name: Token): Source[] {
    const snippet = this.#snippets.get(name.text)
    if (snippet !== undefined) return [snippet]
    const { isGlob, problem } = readPattern(name.text)
    if (problem !== undefined) refuse(name, `${shown(name.text)}${origin(name)}: ${problem}`)
    const paths = this.#pathsOf(name)
    if (isGlob && paths.length === 0) this.#warnings.add(`no file matches ${shown(name.text)}, so nothing is imported`, name)
    return paths.flatMap((path) => this.#sourceOf(path, name, isGlob))
  }

  #pathsOf(name: Token): string[] {
    try {
      return matchPattern(name.text, folderOf(name.file), (path) => this.#outside.readFolder(path))
    } catch (error) {
      return refuse(name, `${shown(name.text)}: cannot read its folder: ${reasonOf(error)}, expected a folder of files`)
    }
  }

  /** One file, or nothing for a folder that a wildcard matches: CoreDNS does not start then. */
  #sourceOf(path: string, name: Token, isGlob: boolean): Source[] {
    const known = this.#files.get(resolve(path))
    if (known !== undefined) return [known]
    let octets: Buffer
    try {
      octets = this.#outside.readFile(path)
    } catch (error) {
      if (isGlob && (error as NodeJS.ErrnoException).code === 'EISDIR') {
        this.#warnings.add(`${JSON.stringify(path)} matches ${shown(name.text)} and is a folder, so it is not imported`, name)
        return []
      }
      const reason = reasonOf(error)
      if (!isGlob && isMissing(error)) refuse(name, this.#missing(path, name))
      return refuse(name, `cannot import ${JSON.stringify(path)}: ${reason}, expected a file to read`)
    }
    const source = this.addFile(path, octets)
    refuseUnbalanced(source)
    return [source]
  }

  #missing(path: string, name: Token): string {
    const near = nearest(name.text, [...this.#snippets.keys()])
    const place = path === name.text ? '' : ` at ${JSON.stringify(path)}`
    const hint = near === undefined ? 'expected one of them' : `did you mean ${near}?`
    return `${shown(name.text)}${origin(name)} is neither a snippet defined before this line nor a file${place}, ${hint}`
  }

  #check(source: Source, above: Reading, name: Token): void {
    let depth = 0
    for (let each: Reading | undefined = above; each !== undefined; each = each.above) {
      if (each.source === source) refuse(name, `import goes round: ${wayOf(source, above)}, expected an end`)
      if (++depth > MAX_DEPTH) refuse(name, `imports in imports, expected at most ${MAX_DEPTH} levels`)
    }
    if (++this.#imports > MAX_IMPORTS) refuse(name, `expected at most ${MAX_IMPORTS} imports`)
    if (this.#used.has(source)) this.#repeatedWords += source.tokens.length
    this.#used.add(source)
    if (this.#repeatedWords > MAX_REPEATED_WORDS) refuse(name, `expected imports to repeat at most ${MAX_REPEATED_WORDS} words`)
  }
}

/** From a source over what it imports back to itself: `a.conf → b.conf → a.conf`. */
function wayOf(source: Source, above: Reading): string {
  const names = [source.name]
  let each: Reading | undefined = above
  for (; each !== undefined && each.source !== source; each = each.above) names.unshift(each.source.name)
  return [source.name, ...names].join(' → ')
}

/** Relative names hang on the file that imports; those of standard input on the working directory, as all its other paths. */
function folderOf(file: string): string {
  return file === '/dev/stdin' ? '.' : posix.dirname(file)
}

/** CoreDNS would let one file close the block of another. */
function refuseUnbalanced({ tokens }: Source): void {
  const open: Token[] = []
  for (const token of tokens) {
    if (isBare(token, '{')) open.push(token)
    else if (isBare(token, '}') && open.pop() === undefined) refuse(token, CLOSES_NOTHING)
  }
  const opening = open.at(-1)
  if (opening !== undefined) refuse(tokens.at(-1)!, neverClosed(opening))
}

/** What is said of a closing brace too many. */
export const CLOSES_NOTHING = 'a } that closes nothing, expected as many { before it'

/** What is said where a file ends inside of a block. */
export function neverClosed(opening: Token): string {
  return `the file ends in the block that ${placeText(opening)} opens, expected } on a line of its own`
}
