#!/usr/bin/env node
/** The `skein` command. */
import { readFileSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { processContainer, scopesOf, servicesOf } from './container.js'
import { type Flag, readArguments, readPort, shownFlags, UsageError } from './process/arguments.js'
import { banner } from './process/banner.js'
import { readConfiguration } from './process/configuration.js'
import { KV_HELP, kv } from './process/kv.js'
import { startServer } from './process/run.js'
import { onReloadSignal, onStopSignal } from './process/signals.js'

const FLAGS: readonly Flag[] = [
  {
    spellings: ['conf'],
    value: 'FILE',
    about: 'the Corefile; `-` or `stdin` reads standard input (./Corefile, else whoami and log on every zone)'
  },
  { spellings: ['dns.port', 'p', 'port'], value: 'PORT', about: 'the port of zones that name none (53)' },
  { spellings: ['quiet'], about: 'print nothing at the start' },
  { spellings: ['version'], about: 'print the version' },
  { spellings: ['help', 'h'], about: 'print this text' }
]

const HELP = `skein: a DNS server composed in a Corefile

Usage:
  skein [run] [FLAGS]        start the server
  skein kv VERB …            read and change the embedded service store; \`skein kv help\`

Flags:
${shownFlags(FLAGS)}

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

/** Runs the command with these arguments. Sets the exit code; returns when the server listens, or the command is done. */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    await command(argv)
  } catch (error) {
    // One line is enough for what an operator can mend; a fault of ours shows where it is.
    const known = error instanceof Error && String((error as { code?: unknown }).code).startsWith('SKEIN_')
    const text = error instanceof Error ? (known ? error.message : (error.stack ?? error.message)) : String(error)
    process.stderr.write(`skein: ${text}\n`)
    process.exitCode = error instanceof UsageError ? 2 : 1
  }
}

async function command(argv: readonly string[]): Promise<void> {
  const [verb, ...rest] = argv
  if (verb === 'kv') return kv(rest)
  const { flags, words } = readArguments(verb === 'run' ? rest : argv, FLAGS)
  if (flags.has('help') || words[0] === 'help') return print(words[1] === 'kv' ? KV_HELP : HELP)
  if (flags.has('version') || words[0] === 'version') return print(`Skein-${version()}\n${platform()}\n`)
  if (words.length > 0) throw new UsageError(`unknown command ${JSON.stringify(words[0])}, expected run, kv, help or version`)
  await run(flags)
}

async function run(flags: ReadonlyMap<string, string>): Promise<void> {
  const defaultPort = readPort(flags.get('dns.port') ?? '53', 'dns.port')
  const configuration = readConfiguration(flags.get('conf'))
  const container = processContainer(`Skein-${version()}`)
  const services = servicesOf(container)
  const { log } = services
  onReloadSignal((text) => log.warn(text))
  const server = await startServer({ configuration, services, makeScope: scopesOf(container), defaultPort })
  onStopSignal((signal) => {
    log.info(`${signal}: shutting down`)
    server.stop().then(
      () => {
        log.flush?.()
        process.exit(0)
      },
      (error: unknown) => {
        log.error(`not everything stopped cleanly: ${error instanceof Error ? error.message : String(error)}`)
        log.flush?.()
        process.exit(1)
      }
    )
  })
  // A plugin's stray failure must not end what everybody is served by.
  process.on('unhandledRejection', (error) =>
    log.error(`a promise of a plugin failed unseen: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  )
  process.on('uncaughtException', (error) => log.error(`a plugin failed outside of a query: ${error.stack ?? error.message}`))
  if (!flags.has('quiet'))
    for (const line of [...server.zoneLines(), `Skein-${version()}`, platform(), ...banner(server, services)]) log.line(line)
}

function platform(): string {
  return `${process.platform}/${process.arch}, node ${process.version}`
}

function print(text: string): void {
  process.stdout.write(text)
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main(process.argv.slice(2))
