/** The Corefile cases of test/conformance/corefile, and what Skein's whole server says of one. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import type { ProcessServices } from '../src/chain/scope.js'
import { addressFindings, storeFindings } from '../src/check/addresses.js'
import { shownFinding } from '../src/check/finding.js'
import { thisMachine } from '../src/check/machine.js'
import { defaultServerBlocks } from '../src/corefile/default.js'
import { ConfigError, type Directive, type Place } from '../src/corefile/directive.js'
import { memoryOutside } from '../src/corefile/memory-outside.testing.js'
import type { Outside } from '../src/corefile/outside.js'
import { parseCorefile, type ServerBlock } from '../src/corefile/parser.js'
import { parseToml } from '../src/corefile/toml-blocks.js'
import { generateKeyPair } from '../src/dnssec/key-file.js'
import { canonicalName } from '../src/message/name.js'
import { buildInstance, type Instance } from '../src/process/instance.js'
import { PromRegistry } from '../src/process/metrics.js'
import { zoneLines } from '../src/process/plan.js'
import { Sharing } from '../src/process/shares.js'
import { ProcessStores } from '../src/process/stores.js'
import { TestClock, TestLog } from '../src/testing.js'

/** One case as test/conformance/corefile/README.md describes it, with the name of its file. */
export interface CorefileCase {
  readonly topic: string
  readonly title: string
  readonly corefile?: string
  readonly corefileBase64?: string
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly accept: boolean
  readonly zones?: readonly string[]
  readonly warning?: string
  readonly error?: { readonly line: number | null; readonly file?: string }
  readonly better?: boolean
  readonly betterZones?: readonly string[]
  readonly either?: boolean
}

/** What the server says of a Corefile: its listening lines and the parser's warnings, or the error and its place. */
export interface Verdict {
  readonly zones?: readonly string[]
  readonly warnings?: readonly string[]
  readonly message?: string
  readonly at?: Omit<Place, 'column'> | undefined
}

/** What stands for the default port. No case names it. */
export const PORT = 20053

const folder = new URL('../../test/conformance/corefile/', import.meta.url)

/** All cases, by file and line. */
export function corefileCases(): CorefileCase[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .flatMap((file) =>
      (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Omit<CorefileCase, 'topic'>[]).map((each) => ({
        ...each,
        topic: file.replace(/^directives-|\.json$/g, '')
      }))
    )
}

/** The server blocks of a case; none where the parser refuses it. */
export function blocksOf(given: CorefileCase): readonly ServerBlock[] {
  try {
    return parseCorefile(textOf(given), 'Corefile', outsideOf(given)).blocks
  } catch (error) {
    if (error instanceof ConfigError) return []
    throw error
  }
}

let keyPair: ReturnType<typeof generateKeyPair> | undefined

/** What a file has that stands for throwaway material; undefined where it says what it has. */
async function materialOf(content: string | Buffer): Promise<string | undefined> {
  if (content !== '@dnskey' && content !== '@dnskey-private') return undefined
  keyPair ??= generateKeyPair('example.org.')
  const { publicText, privateText } = await keyPair
  return content === '@dnskey' ? publicText : privateText
}

/** Writes a case into a folder of its own, reads it there and builds the server of it. Nothing is opened. */
export function verdictOf(given: CorefileCase): Promise<Verdict> {
  return verdictOfFile(given, 'Corefile', textOf(given), parseCorefile)
}

/** The same of a case that was converted. */
export function verdictOfToml(given: CorefileCase, text: string): Promise<Verdict> {
  return verdictOfFile(given, 'skein.toml', text, parseToml)
}

async function verdictOfFile(given: CorefileCase, name: string, text: string | Buffer, parse: typeof parseCorefile): Promise<Verdict> {
  const home = mkdtempSync(join(tmpdir(), 'skein-corefile-'))
  try {
    const file = join(home, name)
    for (const [path, content] of Object.entries({ ...given.files, [name]: text })) {
      mkdirSync(dirname(join(home, path)), { recursive: true })
      writeFileSync(join(home, path), (await materialOf(content)) ?? content)
    }
    const outside: Outside = {
      readFile: (path) => readFileSync(path),
      readFolder: (path) => readdirSync(path),
      variables: given.env ?? {}
    }
    const { blocks, warnings } = parse(text, file, outside)
    const instance = await buildInstance(blocks.length === 0 ? defaultServerBlocks() : blocks, {
      services: services(),
      file,
      defaultPort: PORT
    })
    // What else the start finds out: whether the machine has the addresses.
    const machine = thisMachine()
    const findings = [...addressFindings(instance, PORT, machine), ...storeFindings([], instance, machine)]
    const [foreign] = findings.filter(({ severity }) => severity === 'error')
    if (foreign !== undefined)
      return { message: shownFinding(foreign), at: foreign.at && { file: relative(home, foreign.at.file), line: foreign.at.line } }
    return { zones: listening(instance), warnings: warnings.map((warning) => warning.text) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { message, at } = error
    return { message, at: at && { file: relative(home, at.file), line: at.line } }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** The listening lines of a case in the spelling of {@link verdictOf}. */
export function canonicalLines(lines: readonly string[]): string[] {
  return lines
    .map((line) => {
      const [, zone, port, where = ''] = /^(.*?):(PORT|\d+)( on .*)?$/.exec(line)!
      return `${canonicalName(zone!)}:${port}${where}`
    })
    .sort()
}

/** The names of all directives of server blocks. */
export function directiveNames(blocks: readonly ServerBlock[]): string[] {
  return blocks.flatMap(({ directives }) => directives).map(({ name }: Directive) => name)
}

/** Its octets. */
export function textOf({ corefile, corefileBase64 }: CorefileCase): string | Buffer {
  return corefile ?? Buffer.from(corefileBase64!, 'base64')
}

/** Its files and its environment. */
export function outsideOf(given: CorefileCase): Outside {
  return memoryOutside({ Corefile: textOf(given), ...given.files }, given.env)
}

function services(): ProcessServices {
  const clock = new TestClock()
  const log = new TestLog()
  const metrics = new PromRegistry()
  return {
    log,
    clock,
    random: { below: () => 0 },
    metrics,
    stores: new ProcessStores({ clock, log, metrics }),
    shares: new Sharing(),
    version: 'Skein-test'
  }
}

/** CoreDNS's lines: `example.org.:PORT on 127.0.0.1`. What listens everywhere has two addresses and one line. */
function listening({ plan }: Instance): string[] {
  return zoneLines(plan, ({ port }) => (port === PORT ? 'PORT' : port)).sort()
}
