import { readdirSync, readFileSync } from 'node:fs'
import { defaultServerBlocks } from '../corefile/default.js'
import { ConfigError } from '../corefile/directive.js'
import type { ConfigurationFile } from '../corefile/imports.js'
import { isMissing, type Outside, reasonOf } from '../corefile/outside.js'
import { type ParsedCorefile, parseCorefile, type ServerBlock } from '../corefile/parser.js'
import type { Warning } from '../corefile/warnings.js'

/** A Corefile that was read. */
export interface Configuration {
  /** As named; messages start with it. */
  readonly file: string
  readonly blocks: readonly ServerBlock[]
  /** Whether it is CoreDNS's built-in one, since there was none. */
  readonly isDefault: boolean
  /** All files that were read, the Corefile first; none where it is missing. */
  readonly files: readonly ConfigurationFile[]
  /** What is most likely not meant. Each text starts with its place. */
  readonly warnings: readonly Warning[]
}

/** The files and the environment of this process. */
const machine: Outside = {
  readFile: (path) => readFileSync(path),
  readFolder: (path) => readdirSync(path),
  variables: process.env
}

/**
 * Reads the Corefile: `conf` is a path, `-` or `stdin` for standard input; without it `./Corefile`, and where that is missing or
 * holds no server block CoreDNS's built-in default. Throws ConfigError.
 */
export function readConfiguration(conf: string | undefined): Configuration {
  const named = conf !== undefined && conf !== ''
  const stdin = conf === '-' || conf === 'stdin'
  const file = stdin ? '/dev/stdin' : named ? conf : 'Corefile'
  const text = readText(stdin ? 0 : file, file, named)
  const { blocks, files, warnings } = text === undefined ? NOTHING : parseCorefile(text, file, machine)
  const isDefault = blocks.length === 0
  return { file, blocks: isDefault ? defaultServerBlocks() : blocks, isDefault, files, warnings }
}

const NOTHING: ParsedCorefile = { blocks: [], files: [], warnings: [] }

function readText(path: string | number, file: string, mustExist: boolean): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (isMissing(error) && !mustExist) return undefined
    const reason = reasonOf(error)
    throw new ConfigError(`cannot read the Corefile ${file}: ${reason}`, undefined, { cause: error })
  }
}
