import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { defaultServerBlocks } from '../corefile/default.js'
import { ConfigError } from '../corefile/directive.js'
import type { References } from '../corefile/environment.js'
import type { ConfigurationFile } from '../corefile/imports.js'
import { isMissing, type Outside, reasonOf } from '../corefile/outside.js'
import { type ParsedCorefile, parseCorefile, type ServerBlock } from '../corefile/parser.js'
import { parseToml } from '../corefile/toml-blocks.js'
import type { Warning } from '../corefile/warnings.js'

/** A Corefile, or its TOML form, that was read. */
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

/** Reading more would keep the server from answering, and no configuration is near it. */
const MOST_OCTETS = 16 * 1024 * 1024

/** The files and the environment of this process. */
const machine: Outside = {
  readFile: (path) => {
    checkReadable(path)
    return readFileSync(path)
  },
  readFolder: (path) => readdirSync(path),
  variables: process.env
}

/** What standard input is called in messages. */
const STDIN = '/dev/stdin'

/** Whether the configuration is read from standard input: once. */
export function isStdin(conf: string | undefined): boolean {
  return conf === '-' || conf === 'stdin' || conf === STDIN
}

/** Whether it is the name of a `skein skydns`, which reads no file: it alone says what its configuration is. */
export function isSkydns(conf: string | undefined): conf is string {
  return conf !== undefined && basename(conf) === 'skydns'
}

/** Whether nothing else can be meant: its own program may lie in the folder too, and somebody's Corefile. */
export function isSkydnsAlone(conf: string | undefined): boolean {
  return isSkydns(conf) && !existsSync(conf)
}

/** A Corefile from standard input has no folder: what it names hangs on the working directory, as in CoreDNS. */
export function folderOf(file: string): string {
  return file === STDIN ? process.cwd() : resolve(dirname(file))
}

/** Whether a file is TOML, by its name. */
export function isToml(file: string): boolean {
  return /\.toml$/i.test(file)
}

/**
 * Reads the configuration: `conf` is a path, that of a file in TOML ends in `.toml`; `-` or `stdin` is a Corefile on standard
 * input; without it `./Corefile`, and where that is missing or holds no server block CoreDNS's built-in default. Throws ConfigError.
 */
export function readConfiguration(
  conf: string | undefined,
  references: References = 'values',
  check: (path: string) => void = () => {}
): Configuration {
  const named = conf !== undefined && conf !== ''
  const stdin = isStdin(conf)
  const file = stdin ? STDIN : named ? conf : 'Corefile'
  const text = readText(stdin ? 0 : file, file, named, check)
  const parse = isToml(file) ? parseToml : parseCorefile
  const { blocks, files, warnings } = text === undefined ? NOTHING : parse(text, file, machine, references)
  const isDefault = blocks.length === 0
  return { file, blocks: isDefault ? defaultServerBlocks() : blocks, isDefault, files, warnings }
}

/**
 * Reads it again for a server that runs with `before`. Throws ConfigError also where it would be the default now: a file that is gone or
 * empty is one that somebody is writing.
 */
export function readAgain(conf: string | undefined, before: Configuration): Configuration {
  if (isStdin(conf)) throw new ConfigError('it was read from standard input, which cannot be read again')
  const configuration = readConfiguration(conf, 'values', checkReadable)
  const { file, files, isDefault } = configuration
  if (isDefault && !before.isDefault)
    throw new ConfigError(files.length === 0 ? `there is no ${file} any more` : `${file} has no server block any more`)
  return configuration
}

/** Refuses what would keep a server that runs from answering: a pipe, on which nobody may write, a device without an end, too much. */
function checkReadable(path: string): void {
  const found = statSync(path)
  if (found.isDirectory()) return
  const problem = !found.isFile() ? 'it is no regular file' : found.size > MOST_OCTETS ? 'it has more than 16 MiB' : undefined
  if (problem !== undefined) throw Object.assign(new Error(problem), { code: 'EINVAL' })
}

const NOTHING: ParsedCorefile = { blocks: [], files: [], warnings: [] }

function readText(path: string | number, file: string, mustExist: boolean, check: (path: string) => void): Buffer | undefined {
  try {
    check(file)
    return readFileSync(path)
  } catch (error) {
    if (isMissing(error) && !mustExist) return undefined
    const reason = reasonOf(error)
    throw new ConfigError(`cannot read the ${isToml(file) ? 'configuration' : 'Corefile'} ${file}: ${reason}`, undefined, { cause: error })
  }
}
