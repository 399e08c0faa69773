import { type EtcdEntry, EtcdError, type EtcdEvent, type EtcdWatch, type WatchListener } from './client.js'
import { etcdError, failureOf, isStaleToken, isTooLarge, withRight } from './v3-error.js'
import type { KeyRange } from './v3-range.js'

/** A key as etcd's API gives it: what has 64 bits is a decimal number. */
export interface KeyValue {
  readonly key: Buffer
  readonly value: Buffer
  readonly create_revision: string
  readonly mod_revision: string
  readonly lease: string
}

/** What comes on a watch. */
export interface WatchResponse {
  readonly header: { readonly revision: string }
  readonly created: boolean
  readonly canceled: boolean
  readonly compact_revision: string
  readonly cancel_reason: string
  readonly events: readonly { readonly type: 'Put' | 'Delete'; readonly kv: KeyValue }[]
}

/** The stream of one watch. */
export interface WatchStream {
  write(request: { create_request: KeyRange & { start_revision: string; progress_notify: boolean } }): void
  end(): void
  cancel(): void
  on(event: 'data', take: (response: WatchResponse) => void): unknown
  on(event: 'end', end: () => void): unknown
  on(event: 'error', fail: (error: Error) => void): unknown
}

/** What a watch needs of the client. */
export interface WatchMaker {
  /** A stream with a token; `isNew` where a token from before was refused. Rejects with an EtcdError. */
  stream(isNew: boolean): Promise<WatchStream>
  readonly range: KeyRange
  readonly callMs: number
  /** Is told that something came. */
  heard(): void
  /** Is told of the end, with the reason unless it was cancelled, before the listener is. */
  over(watch: Watch, error: EtcdError | undefined): void
}

/** Etcd tells every ten minutes that there was nothing to tell, unless it is configured otherwise. */
const QUIET_MS = 15 * 60_000

/**
 * One watch: a stream of its own. etcd3's Watcher resumes at the revision of the store, not of the last event, and so loses events.
 *
 * Progress is told of notices that etcd sends by itself (`progress_notify`, every ten minutes): they stand in one queue with the events.
 * Those that are asked for (`progress_request`) pass by that queue before etcd 3.4.25 and 3.5.8, and may be ahead of events
 * (etcd-io/etcd#15220); so may `header.revision` of anything else.
 */
export class Watch implements EtcdWatch {
  readonly #maker: WatchMaker
  readonly #revision: number
  readonly #listener: WatchListener
  #stream: WatchStream | undefined
  #timer: NodeJS.Timeout | undefined
  #quiet: NodeJS.Timeout | undefined
  #isOver = false

  constructor(maker: WatchMaker, revision: number, listener: WatchListener) {
    this.#maker = maker
    this.#revision = revision
    this.#listener = listener
    const late = () => this.lose(new EtcdError('unreachable', `no watch began within ${maker.callMs} ms`))
    this.#timer = setTimeout(late, maker.callMs)
    void this.#open(false)
  }

  cancel(): void {
    if (!this.#isOver) this.#end(undefined)
  }

  /** Ends it as a failure. */
  lose(error: EtcdError): void {
    if (this.#isOver) return
    this.#end(error)
    this.#listener.lost(error)
  }

  /** Never rejects. */
  async #open(isNew: boolean): Promise<void> {
    try {
      const stream = await this.#maker.stream(isNew)
      stream.on('error', (error) => this.#failed(stream, error))
      if (this.#isOver) return drop(stream)
      this.#stream = stream
      stream.on('data', (response) => this.#take(stream, response, isNew))
      stream.on('end', () => this.#failed(stream, new EtcdError('unreachable', 'etcd has ended the watch')))
      stream.write({ create_request: { ...this.#maker.range, start_revision: String(this.#revision + 1), progress_notify: true } })
    } catch (error) {
      this.lose(this.#etcdError(error))
    }
  }

  #take(stream: WatchStream, response: WatchResponse, isNew: boolean): void {
    if (stream !== this.#stream) return
    this.#maker.heard()
    this.#expectMore()
    if (response.canceled) this.#canceled(stream, response, isNew)
    else if (response.created) this.#created(response)
    else if (response.events.length > 0) this.#listener.events(response.events.map(eventOf), newest(response.events))
    else this.#listener.progress(Number(response.header.revision))
  }

  /** Where a proxy has lost it, the connection lives on, and nothing comes. */
  #expectMore(): void {
    clearTimeout(this.#quiet)
    const lose = (): void => this.lose(new EtcdError('unreachable', `nothing came on the watch for ${QUIET_MS / 60_000} min`))
    this.#quiet = setTimeout(lose, QUIET_MS).unref()
  }

  /** A watch from a revision that is yet to come would stay silent on all that happens until then, where data were put back. */
  #created({ header }: WatchResponse): void {
    clearTimeout(this.#timer)
    if (Number(header.revision) >= this.#revision) return
    this.lose(new EtcdError('unreachable', `etcd is at revision ${header.revision}, which is before ${this.#revision}`))
  }

  #canceled(stream: WatchStream, response: WatchResponse, isNew: boolean): void {
    if (response.compact_revision !== '0') {
      this.lose(new EtcdError('compacted', `the changes up to revision ${response.compact_revision} have been compacted`))
      return
    }
    const failure = failureOf(response.cancel_reason || 'etcd has cancelled the watch')
    const { kind, message } = etcdError(failure, this.#maker.callMs)
    // Some of etcd 3.4 do not tell a token that they do not know from a user without the right.
    if ((kind === 'denied' || isStaleToken(failure)) && !isNew) {
      this.#stream = undefined
      drop(stream)
      void this.#open(true)
      return
    }
    const error = new EtcdError(kind === 'denied' ? 'denied' : 'unreachable', message)
    this.lose(withRight(error, 'read', this.#maker.range.key))
  }

  #failed(stream: WatchStream, error: Error): void {
    if (stream !== this.#stream) return
    const known = this.#etcdError(error)
    // They would be the next time too.
    this.lose(isTooLarge(known) ? new EtcdError('compacted', `the changes since revision ${this.#revision} are too large`) : known)
  }

  #etcdError(error: unknown): EtcdError {
    return error instanceof EtcdError ? error : etcdError(failureOf(error), this.#maker.callMs)
  }

  #end(error: EtcdError | undefined): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    clearTimeout(this.#quiet)
    if (this.#stream !== undefined) drop(this.#stream)
    this.#stream = undefined
    this.#maker.over(this, error)
  }
}

/** A key in our words. */
export function entryOf({ key, value, create_revision, mod_revision, lease }: KeyValue): EtcdEntry {
  return {
    path: key,
    value,
    created: Number(create_revision),
    modified: Number(mod_revision),
    lease: lease === '0' ? undefined : lease,
    expires: undefined
  }
}

function eventOf({ type, kv }: WatchResponse['events'][number]): EtcdEvent {
  return type === 'Delete' ? { op: 'delete', path: kv.key } : { op: 'put', ...entryOf(kv) }
}

/** The revision that events have come to; that of the header is of the store, which may be ahead of them. */
function newest(events: WatchResponse['events']): number {
  return events.reduce((highest, { kv }) => Math.max(highest, Number(kv.mod_revision)), 0)
}

/** Ended first: etcd3 takes the cancelling of a stream that can be written to for a failure of the connection. */
function drop(stream: WatchStream): void {
  stream.end()
  stream.cancel()
}
