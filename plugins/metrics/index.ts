import {
  blockServed,
  type Host,
  HTTP_ADDRESS,
  type HttpPlace,
  httpPlace,
  openHttp,
  type Plugin,
  type Schema,
  type Shared,
  type SharedValue,
  shownAddress
} from 'skein/plugin'
import { buildInfo } from './build-info.js'
import { Enabled } from './enabled.js'
import { Traffic } from './traffic.js'

/** The text format that Prometheus reads. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

const schema = {
  about: 'Counts queries and replies, and gives the numbers to Prometheus.',
  args: [
    {
      name: 'ADDRESS',
      type: 'text',
      pattern: HTTP_ADDRESS,
      expected: 'an address with a port such as localhost:9153',
      optional: true,
      default: 'localhost:9153',
      about: 'where the numbers are read, by HTTP, path /metrics'
    }
  ],
  options: {
    runtime_metrics: { status: 'ignored', args: [], about: 'accepted for old Corefiles; the numbers of the process are always there' },
    tls: { status: 'later', about: 'reads the numbers by HTTPS' }
  }
} as const satisfies Schema

/** Counts queries and replies, and gives the numbers to Prometheus. */
export default {
  name: 'metrics',
  directives: ['prometheus'],
  api: 1,
  classes: ['*'],
  schema,
  setup({ args: [given] }, host) {
    const place = httpPlace(given)
    const panics = host.metrics.counter('coredns_panics_total', 'Queries that ended in a fault of a plugin.')
    const shares: Shared<unknown>[] = []
    let traffic: Traffic | undefined
    let leave = (): void => {}
    return {
      reach: { listens: place.listens },
      inPlace: true,
      observe(query, sent) {
        if (sent.error !== undefined) panics.value++
        // Look-ups of the server for itself belong to the query that they are made for.
        if (query.depth === 0) traffic?.count(query, sent)
      },
      async start() {
        // All server blocks count together, and go on counting where a reload keeps one.
        const counting = await host.shared(
          'metrics',
          () => {
            const value = { traffic: new Traffic(), enabled: new Enabled() }
            const families = () => [buildInfo(host.version), value.enabled.family(), ...value.traffic.families()]
            return { value, close: host.metrics.collect(families) }
          },
          'thread'
        )
        shares.push(counting)
        traffic = counting.value.traffic
        const { enabled } = counting.value
        const blocks = host.find(blockServed)
        for (const block of blocks) enabled.add(block)
        leave = () => {
          for (const block of blocks) enabled.remove(block)
        }
        try {
          shares.push(await host.shared(`metrics ${place.text}`, () => openNumbers(place, host)))
        } catch (error) {
          // Names must resolve even where nobody can count.
          host.log.error(`cannot listen on ${place.text}, so nobody can read the numbers: ${(error as Error).message}`)
        }
      },
      async stop() {
        leave()
        for (const share of shares.reverse()) await share.release()
      }
    }
  }
} satisfies Plugin<typeof schema>

async function openNumbers(place: HttpPlace, { metrics, log }: Host): Promise<SharedValue<unknown>> {
  const end = await openHttp(place, {
    path: '/metrics',
    read: async () => ({ type: CONTENT_TYPE, text: await metrics.text() }),
    tell: (problem) => log.error(problem)
  })
  // The numbers of the process count from the first reading on.
  await metrics.text()
  log.info(`http://${shownAddress(end.value.address, end.value.port)}/metrics`)
  return end
}
