/** The admin HTTP end: opened, moved and closed as the configuration says. */
import type { Server } from 'node:http'
import type { Settings } from '../chain/scope.js'
import { ConfigError } from '../corefile/directive.js'
import { listenHttp } from '../http/page.js'
import { listenProblem } from '../message/listen-problem.js'
import { adminEnd, type Log } from '../plugin.js'
import { shownAddress } from '../query.js'
import type { KeysGuard } from '../store/keys-guard.js'
import { closeServer, keysServer } from '../store/keys-listen.js'
import { type AdminCall, adminHandler } from './admin.js'
import type { Beside, BesideChange } from './run.js'

/** The reload that moves the end may have been asked for there, and is answered when it is done. */
const MOVED_MS = 30_000

interface Open {
  /** The address in the configuration. */
  readonly at: string
  readonly server: Server
}

/** Answers the calls where the configuration has a directive for it. */
export class AdminEnd implements Beside {
  readonly #log: Log
  #open: Open | undefined
  #token: string | undefined
  /** Moved ones that still answer. */
  readonly #closing = new Set<Server>()
  /** What is answered; all is refused as too early until there is something. */
  calls: readonly AdminCall[] = []

  constructor(log: Log) {
    this.#log = log
  }

  /** Where it listens: `127.0.0.1:8053`, with the port that was got. */
  get address(): string | undefined {
    const address = this.#open?.server.address()
    if (address == null || typeof address === 'string') return undefined
    return shownAddress(address.address, address.port)
  }

  async prepare(settings: Settings): Promise<BesideChange> {
    const wanted = settings.get(adminEnd)
    const before = this.#open
    const at = wanted?.place.text
    const fresh = wanted === undefined || at === before?.at ? undefined : await this.#listen(settings)
    return {
      apply: () => {
        this.#token = wanted?.token
        if (at === before?.at) return
        this.#open = fresh
        if (fresh !== undefined) this.#log.info(`admin calls are answered on http://${this.address ?? at}`)
        if (before !== undefined) this.#end(before.server)
      },
      discard: () => (fresh === undefined ? Promise.resolve() : closeServer(fresh.server, 0))
    }
  }

  async close(): Promise<void> {
    const servers = [...this.#closing, ...(this.#open === undefined ? [] : [this.#open.server])]
    this.#open = undefined
    await Promise.all(servers.map((server) => closeServer(server)))
  }

  async #listen(settings: Settings): Promise<Open> {
    const { place, token } = settings.get(adminEnd)!
    const guard = (): KeysGuard => guardOf(this.#open?.server === server ? this.#token : token)
    const server = keysServer(
      adminHandler(
        () => this.calls,
        guard,
        (problem) => this.#log.error(problem)
      )
    )
    try {
      await listenHttp(server, place)
    } catch (error) {
      throw new ConfigError(`admin: cannot listen on ${place.text}: ${(error as Error).message}`, settings.directiveOf(adminEnd)?.at)
    }
    // Running out of descriptors must not end the server.
    server.on('error', (error) => this.#log.error(`admin: ${listenProblem(error)}`))
    return { at: place.text, server }
  }

  #end(server: Server): void {
    this.#closing.add(server)
    void closeServer(server, MOVED_MS).then(() => this.#closing.delete(server))
  }
}

/** With a token no page's author gains by another name. */
function guardOf(token: string | undefined): KeysGuard {
  return token === undefined ? {} : { token, allowedHosts: 'any' }
}
