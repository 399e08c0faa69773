/** `skein reload`: has the running server of a Corefile go over to what its files say now. */
import { ConfigError, type Place } from '../corefile/directive.js'
import { oneLine } from '../message/one-line.js'
import { UsageError } from './arguments.js'
import { isStdin } from './configuration.js'
import { askServer, ControlError, otherVersion } from './control-client.js'
import { shownReload } from './reload.js'
import type { Reloaded } from './run.js'

/** How much of a hash people compare. */
const SHOWN_DIGITS = 12

/** What `POST /reload` says. */
type Said = (Reloaded & { readonly old: string; readonly new: string }) | { readonly error: string; readonly at?: Place }

/** Gives what came of it as one line. Throws ConfigError where the configuration is wrong, and ControlError where no server answers. */
export async function reloadRunning(file: string | undefined): Promise<string> {
  if (isStdin(file)) throw new UsageError('reload: expected a file, as what was read from standard input cannot be read again')
  const { body } = await askServer('POST', '/reload', { file })
  const said = body as Said
  if ('error' in said) {
    const error = oneLine(String(said.error))
    if (said.at !== undefined) throw new ConfigError(error, said.at)
    throw new ControlError(`not reloaded, and the server goes on as it was: ${error}`)
  }
  if (![said.kept, said.built, said.dropped].every(Array.isArray) || typeof said.new !== 'string' || typeof said.old !== 'string')
    throw otherVersion()
  const [before, after] = [said.old, said.new].map((hash) => hash.slice(0, SHOWN_DIGITS))
  return `reloaded: ${shownReload(said)}; hash ${before === after ? `${after} as before` : `${before}, now ${after}`}\n`
}
