/** The HTTP end where the numbers are read. */
import { type Host, type HttpPlace, openHttp, type Shared, type SharedValue, shownAddress } from 'skein/plugin'

/** The text format that Prometheus reads. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What has failed for a reload is not tried again at its end. */
const AGAIN_MS = 1000

/** What listens at a place: whoever names the place shares it, under paths that may differ. */
interface End {
  /** `http://127.0.0.1:9153` */
  readonly url: string
  readonly paths: Set<string>
}

/** Serves the numbers at a place under a path, as well as it can. */
export class NumbersEnd {
  readonly #place: HttpPlace
  readonly #path: string
  readonly #host: Host
  readonly #shares: Shared<unknown>[] = []
  #opening: Promise<void> | undefined
  /** As `clock.monotonic()`; undefined where it listens. */
  #failedAt: number | undefined

  constructor(place: HttpPlace, path: string, host: Host) {
    this.#place = place
    this.#path = path
    this.#host = host
  }

  /** Where it cannot listen there is a line in the log: names must resolve even where nobody can count. */
  open(): Promise<void> {
    this.#opening = this.#serve().catch((error: Error) => {
      this.#failedAt = this.#host.clock.monotonic()
      this.#host.log.error(`cannot listen on ${this.#place.text}, so nobody can read the numbers: ${error.message}`)
    })
    return this.#opening
  }

  /** A reload has taken place, for which it may have been opened. */
  refreshed(): void {
    if (this.#failedAt === undefined || this.#host.clock.monotonic() - this.#failedAt < AGAIN_MS) return
    this.#failedAt = undefined
    void this.open()
  }

  async close(): Promise<void> {
    await this.#opening
    for (const share of this.#shares.reverse()) await share.release()
  }

  async #serve(): Promise<void> {
    const place = this.#place.text
    const end = await this.#host.shared(`metrics ${place}`, () => openEnd(this.#place, this.#path, this.#host))
    this.#shares.push(end)
    this.#shares.push(await this.#host.shared(`metrics ${place}${this.#path}`, () => addPath(end.value, this.#path, this.#host)))
  }
}

async function openEnd(place: HttpPlace, path: string, { metrics, log }: Host): Promise<SharedValue<End>> {
  // With its first path from the start: it is asked as soon as it listens.
  const paths = new Set([path])
  const { value, close } = await openHttp(place, {
    paths,
    read: async () => ({ type: CONTENT_TYPE, text: await metrics.text() }),
    tell: (problem) => log.error(problem)
  })
  // The numbers of the process count from the first reading on.
  await metrics.text()
  return { value: { url: `http://${shownAddress(value.address, value.port)}`, paths }, close }
}

function addPath({ url, paths }: End, path: string, { log }: Host): SharedValue<undefined> {
  paths.add(path)
  log.info(`${url}${path}`)
  return { value: undefined, close: () => void paths.delete(path) }
}
