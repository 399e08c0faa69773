import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type EtcdClient,
  type EtcdEntry,
  EtcdError,
  type EtcdPatience,
  type EtcdWatch,
  type MakeEtcdClient,
  type Position,
  type WatchListener
} from './client.js'
import type { EtcdSource } from './source.js'
import { KEY_NOT_FOUND, NOT_A_DIRECTORY, NOT_A_FILE } from './v2-failure.js'
import { accepted, codeOf, V2Http } from './v2-http.js'
import { Directories, entriesBelow } from './v2-node.js'
import { V2Watch } from './v2-watch.js'

const PAGE = 1000

/** Makes a client of etcd's v2 keys API, which is HTTP. */
export const etcd2: MakeEtcdClient = (source, endpoint, patience) => new V2Client(source, endpoint, patience)

class V2Client implements EtcdClient {
  readonly #http: V2Http
  readonly #patience: EtcdPatience
  /** The path of the keys in the API's spelling. */
  readonly #top: string
  readonly #url: string
  readonly #directories = new Directories()
  readonly #watches = new Set<EtcdWatch>()
  #listed: string | undefined
  #isClosed = false

  constructor(source: EtcdSource, endpoint: string, patience: EtcdPatience) {
    this.#http = new V2Http(source, endpoint, patience)
    this.#patience = patience
    const segments = segmentsOf(source.path)
    this.#top = `/${segments.join('/')}`
    this.#url = urlOf(segments)
  }

  position(): Promise<Position> {
    return this.#position(this.#patience.callMs)
  }

  async #position(withinMs: number): Promise<Position> {
    // A key that nobody has: the answer is small whatever is in the directory, and needs no more rights than the list does.
    const path = `${this.#url}${this.#url.endsWith('/') ? '' : '/'}_skein-position?quorum=true`
    const { said, position } = await this.#http.ask('GET', path, { withinMs })
    if (!isNothing(codeOf(said))) accepted(said)
    return position
  }

  async list(page: (entries: readonly EtcdEntry[]) => Promise<void> | void): Promise<Position> {
    const { said, position } = await this.#http.ask('GET', `${this.#url}?recursive=true&quorum=true`, { isLarge: true })
    this.#directories.clear()
    this.#listed = position.cluster
    if (isNothing(codeOf(said))) return position
    let entries: EtcdEntry[] = []
    for (const entry of entriesBelow(accepted(said).node, this.#directories, Date.now())) {
      if (entries.push(entry) < PAGE) continue
      await page(entries)
      entries = []
      // Others have their turn, also where the page is taken at once.
      await nextTurn()
      if (this.#isClosed) throw new EtcdError('failed', 'the client is closed')
    }
    if (entries.length > 0) await page(entries)
    return position
  }

  /** Knows the times to live of directories from the list before. */
  watch(revision: number, listener: WatchListener): EtcdWatch {
    const watch: EtcdWatch = new V2Watch(
      {
        http: this.#http,
        patience: this.#patience,
        top: this.#top,
        url: this.#url,
        directories: this.#directories,
        cluster: this.#listed,
        position: (withinMs) => this.#position(withinMs)
      },
      revision,
      {
        events: (events, reached) => listener.events(events, reached),
        progress: (reached) => listener.progress(reached),
        lost: (error) => {
          this.#watches.delete(watch)
          listener.lost(error)
        }
      }
    )
    this.#watches.add(watch)
    return {
      cancel: () => {
        watch.cancel()
        this.#watches.delete(watch)
      }
    }
  }

  /** Never: v2 keeps the last 1000 changes of a cluster only, and nothing tells of times to live that were renewed. It is listed anew. */
  continues(): Promise<boolean> {
    return Promise.resolve(false)
  }

  /** Infinity of what stays now. */
  async remaining(lease: string): Promise<number | undefined> {
    const { said } = await this.#http.ask('GET', `${urlOf(segmentsOf(lease))}?quorum=true`)
    if (isNothing(codeOf(said))) return undefined
    const { ttl, expiration } = accepted(said).node
    return expiration === undefined ? Number.POSITIVE_INFINITY : (ttl ?? 0) * 1000
  }

  async get(path: Buffer): Promise<Buffer | undefined> {
    const { said } = await this.#http.ask('GET', `${urlOf(segmentsOf(textOf(path, 'key')))}?quorum=true`)
    if (isNothing(codeOf(said))) return undefined
    const { value } = accepted(said).node
    return value === undefined ? undefined : Buffer.from(value)
  }

  async put(path: Buffer, value: Buffer, ttl?: number): Promise<void> {
    const url = urlOf(segmentsOf(textOf(path, 'key')))
    const body = `value=${encodeURIComponent(textOf(value, 'value'))}${ttl === undefined ? '' : `&ttl=${ttl}`}`
    accepted((await this.#http.ask('PUT', url, { body })).said)
  }

  async delete(path: Buffer, recursive: boolean): Promise<boolean> {
    const url = urlOf(segmentsOf(textOf(path, 'key')))
    const { said } = await this.#http.ask('DELETE', recursive ? `${url}?recursive=true` : url)
    const code = codeOf(said)
    if (isNothing(code) || (code === NOT_A_FILE && !recursive)) return false
    accepted(said)
    return true
  }

  close(): void {
    this.#isClosed = true
    for (const watch of this.#watches) watch.cancel()
    this.#watches.clear()
    this.#http.close()
  }
}

function isNothing(code: number | undefined): boolean {
  return code === KEY_NOT_FOUND || code === NOT_A_DIRECTORY
}

// What etcd stores of other octets it gives back changed, in JSON.
function textOf(octets: Buffer, what: string): string {
  if (!isUtf8(octets)) throw new EtcdError('failed', `the v2 API of etcd takes UTF-8 alone, which this ${what} is not`)
  return octets.toString('utf8')
}

function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '')
  // A server of HTTP takes them for steps.
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw new EtcdError('failed', `the v2 API of etcd has no keys with a segment . or .., as in ${path}`)
  return segments
}

function urlOf(segments: readonly string[]): string {
  return `/v2/keys/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`
}
