import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import type { Etcd3, IOptions } from 'etcd3'
import { thrownText } from '../../message/one-line.js'
import type { EtcdClient, EtcdEntry, EtcdPatience, EtcdWatch, Kept, MakeEtcdClient, Position, WatchListener } from './client.js'
import { EtcdError } from './client.js'
import type { EtcdSource } from './source.js'
import {
  etcdError,
  failureOf,
  isOtherRevision,
  isStaleToken,
  isTooLarge,
  isWithoutAuthentication,
  plain,
  type Right,
  withRight
} from './v3-error.js'
import { Pulse } from './v3-pulse.js'
import { behind, below, type KeyRange } from './v3-range.js'
import { type Connector, Sockets } from './v3-sockets.js'
import { entryOf, Watch, type WatchMaker, type WatchStream } from './v3-watch.js'

// Required and not imported: Node would read all that etcd3 is made of once more, for the names that it exports, which takes 0.15 s.
const { Etcd3: AnyEtcd } = createRequire(import.meta.url)('etcd3') as typeof import('etcd3')

type CallOptions = NonNullable<Parameters<Etcd3['kv']['range']>[1]>
type Interceptor = NonNullable<CallOptions['interceptors']>[number]
type Call = ReturnType<Parameters<Interceptor>[1]>
type RangeRequest = Parameters<Etcd3['kv']['range']>[0]
type RangeResponse = Awaited<ReturnType<Etcd3['kv']['range']>>
type Policy = NonNullable<NonNullable<IOptions['faultHandling']>['global']>

/** A page has at most so many keys, and about so many octets. For each page etcd counts all keys of the range: 0.8 s where there are a million. */
const PAGE_KEYS = 50_000
const PAGE_OCTETS = 1 << 24
/** The first page tells how large the values are. */
const FIRST_PAGE_KEYS = 1000
/** How much longer than any other question one may take that reads the whole range, or counts it. */
const LONG = 10
/** A message with more is refused, and a smaller page asked for. A value in etcd has 1.5 MB at most, unless it is configured otherwise. */
const MESSAGE_OCTETS = 1 << 27
const CANCELLED = 1

/** Each call is made once: the caller decides whether and when another is, and of whom. */
const once = { execute: async (call: (context: object) => unknown) => call({}) } as unknown as Policy

let clients = 0

/** What etcd3 has for its endpoint, as far as it is changed here. */
interface Host {
  resetAllServices(): void
  cachedServices: Record<string, { close(): void }>
  readonly channelCredentials: { _createSecureConnector(...given: unknown[]): Connector }
}

/** Makes a client of etcd v3. Throws an EtcdError where certificates or the key cannot be read. */
export const etcd3: MakeEtcdClient = (source, endpoint, patience) => {
  try {
    return new V3Client(source, endpoint, patience)
  } catch (error) {
    throw new EtcdError('failed', `cannot use TLS with the certificates or the key: ${thrownText(error)}`, { cause: error })
  }
}

class V3Client implements EtcdClient {
  readonly #connection: Connection
  readonly #callMs: number
  readonly #range: KeyRange
  readonly #credentials: EtcdSource['credentials']
  readonly #calls = new Set<Call>()
  readonly #watches = new Set<Watch>()
  readonly #pulse: Pulse
  /** undefined: yet to be asked for. It resolves with undefined where etcd wants none. */
  #token: Promise<string | undefined> | undefined
  #isClosed = false

  constructor(source: EtcdSource, endpoint: string, patience: EtcdPatience) {
    this.#connection = new Connection(source, endpoint, patience)
    this.#callMs = patience.callMs
    const aliveMs = Math.ceil(patience.quietMs / 4)
    this.#pulse = new Pulse(patience.quietMs, () => this.#isAlive(aliveMs))
    this.#range = below(Buffer.from(source.path))
    this.#credentials = source.credentials
  }

  /** Asks for one key within the range, which a user with the right to read the range may, and which costs etcd least. */
  async position(): Promise<Position> {
    return positionOf(await this.#ask((options) => this.#connection.kv.range({ key: this.#range.key, count_only: true }, options)))
  }

  async list(page: (entries: readonly EtcdEntry[]) => Promise<void> | void): Promise<Position> {
    let first: Position | undefined
    let rest = this.#range
    let limit = FIRST_PAGE_KEYS
    let most = PAGE_KEYS
    for (;;) {
      const asked = { ...rest, limit, ...(first !== undefined && { revision: first.revision }) }
      const response = await unless(
        isTooLarge,
        this.#ask((options) => this.#connection.kv.range(asked, options), LONG * this.#callMs)
      )
      if (response === undefined) {
        if (limit === 1) throw new EtcdError('failed', `a value has more than ${MESSAGE_OCTETS} octets`)
        // Not to be tried again: etcd has made it all before it is refused.
        most = limit = Math.ceil(limit / 4)
        continue
      }
      first ??= positionOf(response)
      await page(response.kvs.map(entryOf))
      const last = response.kvs.at(-1)
      if (!response.more || last === undefined) return first
      rest = behind(last.key, this.#range)
      limit = Math.min(most, nextLimit(limit, response.kvs))
    }
  }

  watch(revision: number, listener: WatchListener): EtcdWatch {
    const { generation } = this.#connection
    const maker: WatchMaker = {
      range: this.#range,
      callMs: this.#callMs,
      stream: (isNew) => this.#stream(isNew),
      heard: () => this.#pulse.heard(),
      over: (watch, error) => {
        this.#watches.delete(watch)
        if (this.#watches.size === 0) this.#pulse.stop()
        if (error?.kind === 'unreachable') this.#connectAnew(generation, error)
      }
    }
    const watch = new Watch(maker, revision, listener)
    this.#watches.add(watch)
    this.#pulse.start()
    return watch
  }

  async continues(kept: Kept): Promise<boolean> {
    if (kept.revision < 1) return false
    const count = await this.#at(kept, { ...this.#range, count_only: true })
    if (count === undefined || positionOf(count).cluster !== kept.cluster || Number(count.count) !== kept.keys) return false
    // By their number alone nobody can tell keys from others.
    if (kept.recent.length === 0) return kept.keys === 0
    const found = await Promise.all(kept.recent.map(({ path }) => this.#at(kept, { key: path, keys_only: true })))
    return found.every((response, index) => Number(response?.kvs[0]?.mod_revision) === kept.recent[index]!.modified)
  }

  async remaining(lease: string): Promise<number | undefined> {
    const { TTL } = await this.#ask((options) => this.#connection.leaseClient.leaseTimeToLive({ ID: lease }, options))
    return Number(TTL) < 0 ? undefined : Number(TTL) * 1000
  }

  async get(path: Buffer): Promise<Buffer | undefined> {
    const { kvs } = await this.#ask((options) => this.#connection.kv.range({ key: path }, options))
    return kvs[0]?.value
  }

  async put(path: Buffer, value: Buffer, ttl?: number): Promise<void> {
    const { kv, leaseClient } = this.#connection
    const lease = ttl === undefined ? undefined : await this.#ask((options) => leaseClient.leaseGrant({ TTL: Math.ceil(ttl) }, options))
    const request = { key: path, value, ...(lease !== undefined && { lease: lease.ID }) }
    await this.#ask((options) => kv.put(request, options), this.#callMs, 'write')
  }

  async delete(path: Buffer, recursive: boolean): Promise<boolean> {
    const ranges = recursive ? [{ key: path }, below(path)] : [{ key: path }]
    const success = ranges.map((range) => ({ request_delete_range: range }))
    const { responses } = await this.#ask((options) => this.#connection.kv.txn({ success }, options), this.#callMs, 'write')
    return responses.some((each) => Number(each.response_delete_range.deleted) > 0)
  }

  close(): void {
    this.#isClosed = true
    for (const watch of this.#watches) watch.cancel()
    this.#pulse.stop()
    for (const call of this.#calls) call.cancelWithStatus(CANCELLED, 'the client is closed')
    this.#connection.close()
  }

  /** What is at a revision; undefined where there is no such revision. */
  #at({ revision }: Kept, request: RangeRequest): Promise<RangeResponse | undefined> {
    return unless(
      isOtherRevision,
      this.#ask((options) => this.#connection.kv.range({ ...request, revision }, options), LONG * this.#callMs)
    )
  }

  /** Asks once, and once more where the token was not good any more; all that is asked meanwhile ends within one time. */
  async #ask<T>(call: (options: CallOptions) => Promise<T>, ms = this.#callMs, right: Right = 'read'): Promise<T> {
    const deadline = Date.now() + ms
    const { generation } = this.#connection
    try {
      const token = this.#tokenUntil(deadline)
      const answer = await call(this.#options(await token, { deadline })).catch(async (error: unknown) => {
        if (this.#credentials === undefined || !isStaleToken(failureOf(error))) throw error
        this.#forgetToken(token)
        return call(this.#options(await this.#tokenUntil(deadline), { deadline }))
      })
      this.#pulse.heard()
      return answer
    } catch (thrown) {
      const error = this.#error(thrown, ms, right)
      if (error.kind === 'unreachable') this.#connectAnew(generation, error)
      throw error
    }
  }

  /** Whether the member answers by itself, without the others. */
  #isAlive(ms: number): Promise<unknown> {
    return this.#ask((options) => this.#connection.kv.range({ key: this.#range.key, count_only: true, serializable: true }, options), ms)
  }

  /**
   * Has the next call make a connection, since on this one nothing comes, or none came to be: grpc-js would wait for it, and before it
   * tries again. What is watched on it would hear nothing any more.
   */
  #connectAnew(generation: number, error: EtcdError): void {
    if (this.#isClosed || !this.#connection.renew(generation)) return
    // Whoever is told may watch again at once.
    const lost = [...this.#watches]
    for (const watch of lost) watch.lose(error)
  }

  async #stream(isNew: boolean): Promise<WatchStream> {
    try {
      if (isNew && this.#token !== undefined) this.#forgetToken(this.#token)
      const token = await this.#tokenUntil(Date.now() + this.#callMs)
      // A member without a leader, which sees no change, ends the watch.
      return await this.#connection.watchClient.watch(this.#options(token, {}, { hasleader: 'true' }))
    } catch (error) {
      throw this.#error(error, this.#callMs)
    }
  }

  /** @param ms how long the question might take */
  #error(thrown: unknown, ms: number, right: Right = 'read'): EtcdError {
    if (this.#isClosed) return new EtcdError('failed', 'the client is closed')
    return withRight(thrown instanceof EtcdError ? thrown : etcdError(failureOf(thrown), ms), right, this.#range.key)
  }

  #tokenUntil(deadline: number): Promise<string | undefined> {
    if (this.#token !== undefined) return this.#token
    const token = this.#authenticate(deadline)
    this.#token = token
    token.catch(() => this.#forgetToken(token))
    return token
  }

  /** Lets the next who needs a token ask for another, unless that was done. */
  #forgetToken(token: Promise<string | undefined>): void {
    if (this.#token === token) this.#token = undefined
  }

  /** etcd3 would do it by itself, with a connection for each time that stays open. */
  async #authenticate(deadline: number): Promise<string | undefined> {
    if (this.#credentials === undefined) return undefined
    const { user: name, password } = this.#credentials
    try {
      const { token } = await this.#connection.auth.authenticate({ name, password }, this.#options(undefined, { deadline }))
      return token
    } catch (error) {
      // As etcdctl does: a user is known before authentication is switched on.
      if (isWithoutAuthentication(failureOf(error))) return undefined
      throw error
    }
  }

  /** Sends what belongs to a call along with it, and remembers the call until it has ended. */
  #options(token: string | undefined, options: CallOptions, headers: Readonly<Record<string, string>> = {}): CallOptions {
    const interceptor: Interceptor = (given, next) => {
      const call = next(given)
      const start = call.start.bind(call)
      this.#calls.add(call)
      call.start = (metadata, listener) => {
        for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
        if (token !== undefined) metadata.set('token', token)
        start(metadata, {
          ...listener,
          onReceiveStatus: (status) => {
            this.#calls.delete(call)
            // etcd3 knows some failures by their whole text, and repeats a call whose token is invalid with the same token, for ever.
            listener?.onReceiveStatus?.({ ...status, details: plain(status.details) })
          }
        })
      }
      return call as ReturnType<Interceptor>
    }
    return { ...options, interceptors: [interceptor] }
  }
}

/** etcd3 with one endpoint, and nothing that it does by itself. */
class Connection extends AnyEtcd {
  readonly #sockets: Sockets
  readonly #host: Host
  #generation = 0

  constructor({ tls }: EtcdSource, endpoint: string, { callMs }: EtcdPatience) {
    const isSecure = endpoint.startsWith('https:')
    super({
      hosts: endpoint,
      ...(isSecure && tls !== undefined && { credentials: credentialsOf(tls) }),
      faultHandling: { global: once, host: () => once },
      grpcOptions: {
        // The services of one client share a connection, and so its fate; those of two clients do not.
        'skein.client': ++clients,
        'grpc.max_receive_message_length': MESSAGE_OCTETS,
        'grpc.enable_retries': 0,
        'grpc.enable_channelz': 0,
        'grpc.enable_http_proxy': 0,
        'grpc.service_config_disable_resolution': 1
      }
    })
    this.#sockets = new Sockets(callMs)
    this.#host = (this.pool as unknown as { readonly hosts: readonly [Host] }).hosts[0]
    // The client says when to, and etcd3 would wait a second for what is connecting.
    this.#host.resetAllServices = () => undefined
    const { channelCredentials } = this.#host
    const create = channelCredentials._createSecureConnector.bind(channelCredentials)
    channelCredentials._createSecureConnector = (...given) => {
      const connector = create(...given)
      this.#sockets.watch(connector)
      // An address is no name to ask a server for (RFC 6066 §3); without one, Node compares the certificate with the address.
      if (isIP(connector.connectionOptions?.servername ?? '') !== 0) connector.connectionOptions!.servername = ''
      return connector
    }
  }

  /** Grows with each renewal. */
  get generation(): number {
    return this.#generation
  }

  /** Has the next call connect anew; false where that was done since the generation. What is under way goes on. */
  renew(generation: number): boolean {
    if (generation !== this.#generation) return false
    this.#generation++
    this.#closeServices()
    return true
  }

  override close(): void {
    this.#closeServices()
    super.close()
    this.#sockets.close()
  }

  #closeServices(): void {
    const services = Object.values(this.#host.cachedServices)
    this.#host.cachedServices = {}
    for (const service of services) service.close()
  }
}

function credentialsOf({ authority, certificate, key }: NonNullable<EtcdSource['tls']>): NonNullable<IOptions['credentials']> {
  return {
    ...(authority !== undefined && { rootCertificate: Buffer.from(authority) }),
    ...(key !== undefined && { privateKey: Buffer.from(key) }),
    ...(certificate !== undefined && { certChain: Buffer.from(certificate) })
  } as NonNullable<IOptions['credentials']>
}

/** What is asked for; undefined where it fails in the way that is expected. */
function unless<T>(isExpected: (error: EtcdError) => boolean, asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: EtcdError) => {
    if (!isExpected(error)) throw error
    return undefined
  })
}

function positionOf({ header }: RangeResponse): Position {
  return { cluster: BigInt(header.cluster_id).toString(16), revision: Number(header.revision) }
}

/** How many keys the next page may have, from what those of the last one have. */
function nextLimit(limit: number, keys: RangeResponse['kvs']): number {
  const octets = keys.reduce((sum, { key, value }) => sum + key.length + value.length, 0)
  return Math.max(1, Math.min(PAGE_KEYS, limit * 16, Math.floor((PAGE_OCTETS * keys.length) / Math.max(1, octets))))
}
