/** From a configuration to a server that answers until it is told to stop: what `skein run` and `skein skydns` do. */
import { readFileSync } from 'node:fs'
import { METRICS, processContainer, scopesOf, servicesOf } from './container.js'
import { isMissing } from './corefile/outside.js'
import { passedSockets } from './listen/passed-sockets.js'
import { thrownText } from './message/one-line.js'
import type { Log, MaybePromise } from './plugin.js'
import { adminCalls } from './process/admin.js'
import { AdminEnd } from './process/admin-end.js'
import type { Arguments } from './process/arguments.js'
import { banner, platform } from './process/banner.js'
import type { Configuration } from './process/configuration.js'
import { type ControlSocket, openControlSocket } from './process/control-socket.js'
import type { LogFormat } from './process/log.js'
import { goOnWithoutReader } from './process/output.js'
import { Reloader } from './process/reload.js'
import { type RunningServer, startServer } from './process/run.js'
import { onReloadSignal, onStopSignal } from './process/signals.js'
import { tellStray } from './process/stray.js'
import type { Machine } from './skydns/corefile.js'
import type { Skydns, Tell } from './skydns/skydns.js'

/** What the server runs with. */
export interface Served {
  readonly configuration: Configuration
  /** Reads it once more, for a reload. Throws ConfigError. */
  readonly again: (before: Configuration) => MaybePromise<Configuration>
  readonly defaultPort: number
  /** Whether nothing is printed at the start. */
  readonly isQuiet: boolean
}

/** What lines the process writes, and what it is. */
export interface Process {
  readonly format: LogFormat
  /** As in package.json. */
  readonly version: string
}

/** Starts the server; resolves when it listens. Throws ConfigError, ListenError, StoreError. */
export async function serve(served: Served, process_: Process): Promise<void> {
  await serveWith(partsOf(process_), served, process_)
}

type Parts = ReturnType<typeof partsOf>

function partsOf({ version, format }: Process) {
  const container = processContainer(`Skein-${version}`, format)
  const services = servicesOf(container)
  return { container, services, signals: answerSignals(services.log) }
}

/** What signals do: both may be set. A start may wait for seconds, for an etcd that does not answer. */
function answerSignals(log: Log): { reload: () => void; stop: (signal: NodeJS.Signals) => void } {
  const signals = {
    reload: (): void => log.warn('not started yet: there is nothing to reload'),
    stop(signal: NodeJS.Signals): void {
      log.info(`${signal}: shutting down before the start was over`)
      log.flush?.()
      process.exit(0)
    }
  }
  onReloadSignal(
    () => signals.reload(),
    (text) => log.warn(text)
  )
  onStopSignal((signal) => signals.stop(signal))
  return signals
}

async function serveWith({ container, services, signals }: Parts, served: Served, { format }: Process): Promise<void> {
  const { log } = services
  const { configuration, again, defaultPort, isQuiet } = served
  const adminEnd = new AdminEnd(log)
  const server = await startServer({
    configuration,
    services,
    makeScope: scopesOf(container),
    defaultPort,
    beside: adminEnd,
    workers: {
      file: new URL('worker.js', import.meta.url),
      start: { version: services.version, format, defaultPort },
      log,
      metrics: container.resolve(METRICS),
      stores: services.stores
    }
  })
  const reloader = new Reloader(server, configuration, again, services)
  signals.reload = () => void reloader.now()
  adminEnd.calls = adminCalls(server, reloader, services)
  const control = openControlSocket({ file: configuration.file, calls: adminEnd.calls, log })
  signals.stop = (signal) => {
    log.info(`${signal}: shutting down`)
    reloader.stop()
    stopAll(server, control).then(
      () => {
        log.flush?.()
        process.exit(0)
      },
      (error: unknown) => {
        log.error(`not everything stopped cleanly: ${thrownText(error)}`)
        log.flush?.()
        process.exit(1)
      }
    )
  }
  goOnWithoutReader()
  // A plugin's stray failure must not end what everybody is served by.
  process.on('unhandledRejection', (error) => tellStray(log, 'a promise of a plugin failed unseen', error))
  process.on('uncaughtException', (error) => tellStray(log, 'a plugin failed outside of a query', error))
  await control
  if (!isQuiet) for (const line of [...server.zoneLines(), services.version, platform(), ...banner(server)]) log.line(line)
}

/** Who asks over the control socket is answered as long as the server is there. */
async function stopAll(server: RunningServer, control: Promise<ControlSocket | undefined>): Promise<void> {
  try {
    await server.stop()
  } finally {
    await (await control)?.close()
  }
}

/** Serves what SkyDNS's flags, variables and stored object say. Resolves and throws as {@link serve}. */
export async function serveSkydns(flags: Arguments['flags'], process_: Process): Promise<void> {
  const parts = partsOf(process_)
  const skydns = await skydnsOf(flags, parts.services.log)
  const configuration = await skydns.read()
  await serveWith(parts, { configuration, again: () => skydns.read(true), defaultPort: 53, isQuiet: false }, process_)
}

/** The Corefile that they stand for. Throws ConfigError. */
export async function skydnsCorefile(flags: Arguments['flags'], warn: (text: string) => void): Promise<string> {
  const skydns = await skydnsOf(flags, { info: () => {}, warn })
  return (await skydns.read()).text
}

/** Loaded here, as `skein run` has no use for it. */
async function skydnsOf(flags: Arguments['flags'], tell: Tell): Promise<Skydns> {
  const { Skydns } = await import('./skydns/skydns.js')
  return new Skydns(flags, { variables: process.env, tell, machine: thisMachine })
}

async function thisMachine(): Promise<Machine> {
  const { list } = await passedSockets()
  return { resolvConf: textOf('/etc/resolv.conf'), passed: list }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}
