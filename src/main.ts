#!/usr/bin/env node
/** The `skein` command. A command loads what it needs alone: it is half of the time that a short one takes. */
import { readFileSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError, type Directive, nearest } from './corefile/directive.js'
import { type Arguments, type Flag, readArguments, readLogFormat, readPort, shownFlags, UsageError } from './process/arguments.js'
import { platform } from './process/banner.js'
import { type Configuration, folderOf, readAgain, readConfiguration } from './process/configuration.js'
import type { Offline } from './process/explain-command.js'
import { collectAlone } from './process/garbage.js'
import { jsonLine, type LogFormat } from './process/log.js'
import { endWithReader, tellOfStandstill } from './process/output.js'
import { tellStray } from './process/stray.js'

const CONF: Flag = {
  spellings: ['conf'],
  value: 'FILE',
  about: 'the Corefile, or the same as TOML in a file FILE.toml; `-` or `stdin` reads a Corefile from standard input (./Corefile)'
}
const PORT: Flag = { spellings: ['dns.port', 'p', 'port'], value: 'PORT', about: 'the port of zones that name none (53)' }
const LOG_FORMAT: Flag = { spellings: ['log-format'], value: 'FORMAT', about: 'run: what lines of the log are, text or json (text)' }
const HELP_FLAG: Flag = { spellings: ['help', 'h'], about: 'print this text' }
const JSON_FLAG: Flag = { spellings: ['json'], about: 'check, plugins, explain: print JSON' }
const NO_PLUGINS: Flag = { spellings: ['no-plugins'], about: 'check: import no plugin but Skein’s own, as importing one runs its code' }

const CLIENT: Flag = { spellings: ['client'], value: 'ADDRESS', about: 'explain: who asks (127.0.0.1)' }
const DO: Flag = { spellings: ['do'], about: 'explain: asks with the DO bit, for DNSSEC' }
const AT: Flag = {
  spellings: ['at'],
  value: 'ADDRESS',
  about: 'explain: which address of the server is asked, as ADDRESS, ADDRESS:PORT or :PORT (the first that has the name)'
}

const FLAGS: readonly Flag[] = [
  CONF,
  PORT,
  { spellings: ['quiet'], about: 'run: print nothing at the start' },
  LOG_FORMAT,
  JSON_FLAG,
  NO_PLUGINS,
  { spellings: ['version'], about: 'print the version' },
  HELP_FLAG
]

const HELP = `skein: a DNS server composed in a Corefile

Usage:
  skein [run] [FLAGS]        start the server; without ./Corefile whoami and log on every zone
  skein check [FLAGS]        say whether it would start, what its chains are, and what is most likely not meant
  skein convert [FLAGS]      print the Corefile as TOML, or the TOML as a Corefile
  skein plugins [NAME]       list the plugins that there are, or print what the one of a directive takes
  skein reload [-conf FILE]  have the running server go over to what the Corefile says now
  skein explain NAME [TYPE]  say what each plugin does with a question, and why
  skein kv VERB …            read and change the service store, or the etcd that feeds it; \`skein kv help\`
  skein keys VERB …          make, list and tell of the keys that sign zones; \`skein keys help\`
  skein skydns [FLAGS]       serve what SkyDNS served, started with its flags; \`skein skydns -help\`

Flags:
${shownFlags([...FLAGS, CLIENT, DO, AT])}

A Corefile that serves SkyDNS services from ./data on port 1053, and asks the machine's name servers for the rest:

  .:1053 {
    etcd skydns.local {
      store ./data
    }
    forward . /etc/resolv.conf
  }

Documentation: README.md, docs/, and a README in each folder of plugins/.
`

/** The version of this Skein as in package.json. */
function version(): string {
  const path = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

function versionText(): string {
  return `Skein-${version()}\n${platform()}\n`
}

/** Runs the command with these arguments. Sets the exit code; returns when the server listens, or the command is done. */
export async function main(argv: readonly string[]): Promise<void> {
  const standstill = tellOfStandstill()
  endWithReader()
  try {
    await command(argv)
  } catch (error) {
    endWith(error)
  }
  standstill.done()
}

function endWith(error: unknown, format: LogFormat = 'text'): void {
  // One line is enough for what an operator can mend; a fault of ours shows where it is.
  const known = error instanceof Error && String((error as { code?: unknown }).code).startsWith('SKEIN_')
  const text = error instanceof Error ? (known ? error.message : (error.stack ?? error.message)) : String(error)
  process.stderr.write(format === 'json' ? `${jsonLine('ERROR', text)}\n` : `skein: ${text}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

/** The commands that read a configuration, each with its own flags. */
const COMMANDS: Readonly<Record<string, { flags: readonly Flag[]; most: number; go: (given: Arguments) => Promise<void> | void }>> = {
  run: { flags: FLAGS, most: 0, go: ({ flags }) => run(flags) },
  check: { flags: [CONF, PORT, JSON_FLAG, NO_PLUGINS, HELP_FLAG], most: 0, go: ({ flags }) => runCheck(flags) },
  convert: { flags: [CONF, HELP_FLAG], most: 0, go: ({ flags }) => runConvert(flags) },
  plugins: { flags: [CONF, JSON_FLAG, HELP_FLAG], most: 1, go: ({ flags, words }) => runPlugins(flags, words[0]) },
  explain: { flags: [CONF, PORT, JSON_FLAG, CLIENT, DO, AT, HELP_FLAG], most: 3, go: runExplain },
  reload: { flags: [CONF, HELP_FLAG], most: 0, go: ({ flags }) => runReload(flags) }
}

async function command(argv: readonly string[]): Promise<void> {
  const [verb = '', ...rest] = argv
  if (verb === 'kv') return (await import('./process/kv.js')).kv(rest)
  if (verb === 'skydns') return runSkydns(rest)
  if (verb === 'keys') return (await import('./process/keys-command.js')).keysCommand(rest)
  const named = Object.hasOwn(COMMANDS, verb) ? COMMANDS[verb]! : undefined
  const { flags, most, go } = named ?? COMMANDS.run!
  const given = readArguments(named === undefined ? argv : rest, flags)
  const { words } = given
  if (given.flags.has('help') || words[0] === 'help') return print(await helpOf(words[1]))
  if (given.flags.has('version') || words[0] === 'version') return print(versionText())
  const extra = words[most]
  if (extra !== undefined && named === undefined)
    throw new UsageError(`unknown command ${JSON.stringify(extra)}, expected ${shownCommands(extra)}`)
  if (extra !== undefined)
    throw new UsageError(
      `${verb}: expected ${most === 0 ? 'flags alone' : most === 1 ? 'one name' : 'NAME TYPE CLASS at most'}, not ${JSON.stringify(extra)}`
    )
  await go(given)
}

async function helpOf(command: string | undefined): Promise<string> {
  if (command === 'kv') return (await import('./process/kv.js')).KV_HELP
  if (command === 'skydns') return (await import('./skydns/given.js')).SKYDNS_HELP
  return command === 'keys' ? (await import('./process/keys-command.js')).KEYS_HELP : HELP
}

function shownCommands(word: string): string {
  const known = [...Object.keys(COMMANDS), 'kv', 'keys', 'skydns', 'help', 'version']
  const near = nearest(word, known)
  return `one of ${known.join(', ')}${near === undefined ? '' : `: did you mean ${near}?`}`
}

async function runReload(flags: ReadonlyMap<string, string>): Promise<void> {
  const { reloadRunning } = await import('./process/reload-command.js')
  print(await reloadRunning(flags.get('conf')))
}

async function runCheck(flags: ReadonlyMap<string, string>): Promise<void> {
  const [{ check }, { checkJson }, { checkText }] = await Promise.all([
    import('./check/check.js'),
    import('./check/json.js'),
    import('./check/text.js')
  ])
  const error = (text: string): void => void process.stderr.write(`skein: ${text}\n`)
  process.on('unhandledRejection', (thrown) => tellStray({ error }, 'a promise of a plugin failed unseen', thrown))
  const defaultPort = readPort(flags.get('dns.port') ?? '53', 'dns.port')
  const builtInOnly = flags.has('no-plugins')
  const checked = await check({ conf: flags.get('conf'), defaultPort, builtInOnly, version: `Skein-${version()}` })
  print(flags.has('json') ? checkJson(checked, defaultPort) : checkText(checked, defaultPort))
  if (checked.findings.some(({ severity }) => severity === 'error')) process.exitCode = 1
}

async function runConvert(flags: ReadonlyMap<string, string>): Promise<void> {
  const { converted } = await import('./process/convert.js')
  const configuration = readConfiguration(flags.get('conf'), 'keep')
  if (configuration.isDefault)
    throw new UsageError(`convert: ${configuration.file} has no server block, expected one${flags.has('conf') ? '' : ', or -conf FILE'}`)
  print(await converted(configuration, (text) => process.stderr.write(`skein: ${text}\n`)))
}

async function runPlugins(flags: ReadonlyMap<string, string>, name: string | undefined): Promise<void> {
  const { pluginList, pluginText } = await import('./process/plugins.js')
  const warn = (text: string): void => void process.stderr.write(`skein: ${text}\n`)
  const sources = { folder: folderOf(flags.get('conf') ?? 'Corefile'), lines: pluginLines(flags.get('conf'), warn) }
  print(name === undefined ? await pluginList(sources, flags.has('json')) : await pluginText(name, sources, warn))
}

async function runExplain(given: Arguments): Promise<void> {
  const { explainCommand } = await import('./process/explain-command.js')
  const warn = (text: string): void => void process.stderr.write(`skein: ${text}\n`)
  // Also where a server is asked, which has its own.
  const defaultPort = readPort(given.flags.get('dns.port') ?? '53', 'dns.port')
  const offline = async (): Promise<Offline> => {
    const { processContainer, scopesOf, servicesOf, withoutApis } = await import('./container.js')
    const container = withoutApis(processContainer(`Skein-${version()}`, 'text', process.stderr))
    const configuration = readConfiguration(given.flags.get('conf'))
    return { configuration, services: servicesOf(container), makeScope: scopesOf(container), defaultPort }
  }
  print(await explainCommand(given, offline, warn))
}

/** The `plugin` lines of the configuration. Who asks what there is may be about to mend it: what cannot be read is told, and has none. */
function pluginLines(conf: string | undefined, warn: (text: string) => void): Directive[] {
  try {
    return readConfiguration(conf).blocks.flatMap(({ directives }) => directives.filter(({ name }) => name === 'plugin'))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    warn(error.message)
    return []
  }
}

async function run(flags: ReadonlyMap<string, string>): Promise<void> {
  const defaultPort = readPort(flags.get('dns.port') ?? '53', 'dns.port')
  const format = readLogFormat(flags.get('log-format') ?? 'text')
  try {
    collectAlone()
    const conf = flags.get('conf')
    const configuration = readConfiguration(conf)
    const { serve } = await import('./serve.js')
    const again = (before: Configuration): Configuration => readAgain(conf, before)
    await serve({ configuration, again, defaultPort, isQuiet: flags.has('quiet') }, { format, version: version() })
  } catch (error) {
    endWith(error, format)
  }
}

async function runSkydns(argv: readonly string[]): Promise<void> {
  const { readFlags, SKYDNS_HELP } = await import('./skydns/given.js')
  const { flags } = readFlags(argv)
  if (flags.has('help')) return print(SKYDNS_HELP)
  if (flags.has('version')) return print(versionText())
  const format = readLogFormat(flags.get('log-format') ?? 'text')
  try {
    collectAlone()
    const { serveSkydns, skydnsCorefile } = await import('./serve.js')
    if (flags.has('print-corefile')) return print(await skydnsCorefile(flags, (text) => process.stderr.write(`skein: ${text}\n`)))
    await serveSkydns(flags, { format, version: version() })
  } catch (error) {
    endWith(error, format)
  }
}

function print(text: string): void {
  process.stdout.write(text)
}

const [, script, ...args] = process.argv
if (script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url))
  // A start line of SkyDNS names that.
  await main(basename(script) === 'skydns' ? ['skydns', ...args] : args)
