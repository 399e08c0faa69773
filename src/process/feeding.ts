/** A replica that is open: its lock, its view, and the feeder that keeps it in step. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, EtcdSource, Log } from '../plugin.js'
import { ReplicaNumbers } from '../store/etcd/replica-numbers.js'
import type { ReplicaView } from '../store/etcd/replica-view.js'
import { prepareFolder } from '../store/folder.js'
import { lockFolder } from '../store/lock.js'
import { type ChangedKeys, StoreError } from '../store/store.js'
import { Feeder } from './feeder.js'
import { isReplicaFolder, prepareReplicaFolders } from './replica-folder.js'

/** How a replica is opened. */
export interface FeedingOptions {
  readonly folder: string
  readonly etcd: EtcdSource
  readonly judge: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly report: (error: unknown) => void
}

/** A start without anything of before waits so long for the cluster: whoever asks at once gets an answer and no refusal then. */
const START_MS = 2000

/** Whether two clusters are the same, reached in the same way. */
export function sameSource(one: EtcdSource, other: EtcdSource): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** One replica. */
export class Feeding {
  readonly numbers = new ReplicaNumbers()
  #view: ReplicaView | undefined
  #why: string | undefined
  readonly #options: FeedingOptions
  #source: EtcdSource
  #feeder: Feeder
  /** The feeder before this one ends. */
  #changing: Promise<void> = Promise.resolve()
  #isClosed = false

  /** Resolves when it is in step, or has something of before, or when it is clear that this takes longer. Throws StoreError. */
  static async open(options: FeedingOptions): Promise<Feeding> {
    const { folder, report, clock } = options
    if (isReplicaFolder(folder)) await prepareReplicaFolders()
    prepareFolder(folder)
    const lock = await lockFolder(folder)
    const feeding = new Feeding(options)
    try {
      await feeding.#feeder.open()
      const { ReplicaView: View } = await import('../store/etcd/replica-view.js')
      const view = await View.openLocked(folder, lock, report, clock)
      // What came while it was being opened.
      view.follow(undefined)
      view.why = feeding.#why
      feeding.#view = view
    } catch (error) {
      await feeding.#feeder.close()
      await lock.release()
      throw error
    }
    if (feeding.view.feed?.state === 'waiting') await Promise.race([feeding.#feeder.tried, sleep(START_MS, undefined, { ref: false })])
    return feeding
  }

  private constructor(options: FeedingOptions) {
    this.#options = options
    this.#source = options.etcd
    this.#feeder = this.#feederOf(options.etcd, options.judge, undefined)
  }

  get view(): ReplicaView {
    return this.#view!
  }

  /** Has it follow this cluster from now on. What is here is served until it is in step with that. */
  changeTo(source: EtcdSource, judge: string | undefined): void {
    if (sameSource(this.#source, source)) return
    this.#source = source
    const change = async (): Promise<void> => {
      // Another reload may have come before it is this one's turn.
      if (this.#isClosed || !sameSource(this.#source, source)) return
      // Two of them would write over each other.
      while (!(await this.#feeder.close())) if (this.#isClosed) return
      if (this.#isClosed) return
      this.#feeder = this.#feederOf(source, judge, this.#feeder.file)
      this.#feeder.begin()
    }
    this.#changing = this.#changing.then(change).catch(this.#options.report)
  }

  /** Ends the feeder, and closes what it fed unless it is amid a change that takes long: that ends with the process. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#changing
    const { folder, report } = this.#options
    if (await this.#feeder.close()) await this.view.close()
    else {
      report(new StoreError(`the feeder of ${folder} is amid a change, and was left alone`))
      await this.view.lock.release()
    }
  }

  #feederOf(source: EtcdSource, judge: string | undefined, file: string | undefined): Feeder {
    const { folder } = this.#options
    const log = this.#options.log.named?.('etcd') ?? this.#options.log
    const start = { folder, source, file, judge, numbers: this.numbers.memory }
    return new Feeder(start, {
      log,
      changed: (keys: ChangedKeys) => this.#view?.follow(keys),
      why: (why) => {
        this.#why = why
        if (this.#view !== undefined) this.#view.why = why
      }
    })
  }
}
