import { readFileSync } from 'node:fs'
import { defaultServerBlocks } from '../corefile/default.js'
import { ConfigError } from '../corefile/directive.js'
import { parseCorefile, type ServerBlock } from '../corefile/parser.js'

/** A Corefile that was read. */
export interface Configuration {
  /** As named; messages start with it. */
  readonly file: string
  readonly blocks: readonly ServerBlock[]
  /** Whether it is CoreDNS's built-in one, since there was none. */
  readonly isDefault: boolean
}

/**
 * Reads the Corefile: `conf` is a path, `-` or `stdin` for standard input; without it `./Corefile`, and where that is missing or
 * holds no server block CoreDNS's built-in default. Throws ConfigError.
 */
export function readConfiguration(conf: string | undefined): Configuration {
  const named = conf !== undefined && conf !== ''
  const stdin = conf === '-' || conf === 'stdin'
  const file = stdin ? '/dev/stdin' : named ? conf : 'Corefile'
  const blocks = readText(stdin ? 0 : file, file, named)
  const parsed = blocks === undefined ? [] : parseCorefile(blocks, file)
  return parsed.length > 0 ? { file, blocks: parsed, isDefault: false } : { file, blocks: defaultServerBlocks(), isDefault: true }
}

function readText(path: string | number, file: string, mustExist: boolean): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !mustExist) return undefined
    const reason =
      code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'no permission' : code === 'EISDIR' ? 'it is a folder' : message
    throw new ConfigError(`cannot read the Corefile ${file}: ${reason}`, undefined, { cause: error })
  }
}
