/** `skein explain`: asks the server that runs with a Corefile, or where none does its chain alone, set up for this one question. */
import { startAll, stopAll } from '../chain/lifecycle.js'
import type { ProcessServices } from '../chain/scope.js'
import { oneLine } from '../message/one-line.js'
import { REASONS } from '../message/reasons.js'
import { type Arguments, UsageError } from './arguments.js'
import { type Configuration, isSkydnsAlone, isStdin } from './configuration.js'
import { askServer, NoServerError, otherVersion } from './control-client.js'
import { type Explained, explain } from './explain.js'
import { type Asked, ExplainError } from './explain-question.js'
import { explainText } from './explain-text.js'
import { buildInstance, type MakeScope } from './instance.js'

/** What there is to explain with where no server runs. */
export interface Offline {
  readonly configuration: Configuration
  /** Their stores have no keys API. */
  readonly services: ProcessServices
  readonly makeScope: MakeScope
  readonly defaultPort: number
}

/** Longer than an explanation takes at most. */
const OFFLINE_MS = 60_000

/** Explains what the command line asks; gives what is printed. `offline` is called where no server runs, `tell` is told so. */
export async function explainCommand(
  { flags, words }: Arguments,
  offline: () => Promise<Offline>,
  tell: (text: string) => void
): Promise<string> {
  const [name, type = 'A', klass] = words
  if (name === undefined) throw new UsageError('explain: expected NAME [TYPE [CLASS]], such as www.example.org A')
  const asked: Asked = { name, type, class: klass, client: flags.get('client'), do: flags.has('do'), at: flags.get('at') }
  const file = flags.get('conf')
  const explained = (isStdin(file) ? undefined : await explainRunning(asked, file)) ?? (await withoutServer(asked, await offline(), tell))
  return flags.has('json') ? `${JSON.stringify(explained, undefined, 2)}\n` : explainText(explained, sentenceOf)
}

/** What a reason code means; undefined for those of other people's plugins. */
function sentenceOf(why: string): string | undefined {
  return Object.hasOwn(REASONS, why) ? REASONS[why]!.about : undefined
}

/** Undefined where no server runs. */
async function explainRunning(asked: Asked, file: string | undefined): Promise<Explained | undefined> {
  const given = Object.entries(asked).flatMap(([name, value]) => (value === undefined || value === false ? [] : [[name, String(value)]]))
  try {
    const { body } = await askServer('GET', `/explain?${new URLSearchParams(given)}`, { file })
    if ('error' in body) throw new ExplainError(oneLine(String(body.error)))
    if (!('question' in body && 'took' in body)) throw otherVersion()
    return body as Explained
  } catch (error) {
    if (error instanceof NoServerError && !isSkydnsAlone(file)) return undefined
    throw error
  }
}

async function withoutServer(asked: Asked, offline: Offline, tell: (text: string) => void): Promise<Explained> {
  tell(`no server runs with ${offline.configuration.file}: its chain is set up for this question alone`)
  let timer: NodeJS.Timeout | undefined
  // Where a plugin never comes to an end nothing else would keep the process, which would end without a word.
  const late = new Promise<never>((_resolve, reject) => {
    const error = new ExplainError(`explain: the plugins have not started and stopped within ${OFFLINE_MS / 1000} s`)
    timer = setTimeout(() => reject(error), OFFLINE_MS)
  })
  try {
    return await Promise.race([explainOffline(asked, offline), late])
  } finally {
    clearTimeout(timer)
  }
}

/** What the chain of a configuration does with a question. Nothing listens; stores and upstreams are the real ones. */
async function explainOffline(asked: Asked, { configuration, services, makeScope, defaultPort }: Offline): Promise<Explained> {
  const { blocks, file } = configuration
  const instance = await buildInstance(blocks, { services, file, defaultPort, makeScope })
  const { stores } = instance.generation
  await stores.open()
  try {
    // What answers no question listens at most, as `prometheus` does.
    const layers = instance.blocks.flatMap(({ chain }) => chain.configured).filter(({ layer }) => layer.handle !== undefined)
    await startAll(layers)
    try {
      return await explain(instance, asked)
    } finally {
      await stopAll(layers)
    }
  } finally {
    await stores.close()
  }
}
