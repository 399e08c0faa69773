/** The HTTP end where the numbers are read. */
import { type Host, type HttpPlace, openHttp, type Shared, type SharedValue, shownAddress } from 'skein/plugin'

/** The text format that Prometheus reads. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What listens at a place: whoever names the place shares it, under paths that may differ. */
interface End {
  /** `http://127.0.0.1:9153` */
  readonly url: string
  readonly paths: Set<string>
}

/** Serves the numbers at a place under a path. What is to be released in the end is added to `shares`. Fails where it cannot listen. */
export async function serveNumbers(place: HttpPlace, path: string, host: Host, shares: Shared<unknown>[]): Promise<void> {
  const end = await host.shared(`metrics ${place.text}`, () => openEnd(place, path, host))
  shares.push(end)
  shares.push(await host.shared(`metrics ${place.text}${path}`, () => addPath(end.value, path, host)))
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
