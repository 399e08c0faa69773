import { blockServed, type Plugin, type Schema, type Shared } from 'skein/plugin'
import { buildInfo } from './build-info.js'
import { Enabled } from './enabled.js'
import { listensOn, openHttpEnd } from './http-end.js'
import { Traffic } from './traffic.js'

/** 0 to 65535. */
const PORT = '(?:[0-5]?\\d{1,4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'

const schema = {
  about: 'Counts queries and replies, and gives the numbers to Prometheus.',
  args: [
    {
      name: 'ADDRESS',
      type: 'text',
      pattern: new RegExp(`^(?:\\[[^\\][]+\\]|[^:\\][]*):${PORT}$`),
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
    // One spelling for one listener. Go prefers IPv4 for this name, Node what the resolver says first.
    const address = given.replace(/^localhost:/i, '127.0.0.1:')
    const panics = host.metrics.counter('coredns_panics_total', 'Queries that ended in a fault of a plugin.')
    const shares: Shared<unknown>[] = []
    let traffic: Traffic | undefined
    let leave = (): void => {}
    return {
      reach: { listens: listensOn(address) },
      observe(query, sent) {
        if (sent.error !== undefined) panics.value++
        // Look-ups of the server for itself belong to the query that they are made for.
        if (query.depth === 0) traffic?.count(query, sent)
      },
      async start() {
        // All server blocks count together, and go on counting where a reload keeps one.
        const counting = await host.shared('metrics', () => {
          const value = { traffic: new Traffic(), enabled: new Enabled() }
          const families = () => [buildInfo(host.version), value.enabled.family(), ...value.traffic.families()]
          return { value, close: host.metrics.collect(families) }
        })
        shares.push(counting)
        traffic = counting.value.traffic
        const { enabled } = counting.value
        const blocks = host.find(blockServed)
        for (const block of blocks) enabled.add(block)
        leave = () => {
          for (const block of blocks) enabled.remove(block)
        }
        try {
          shares.push(await host.shared(`metrics ${address}`, () => openHttpEnd(address, host.metrics, host.log)))
        } catch (error) {
          // Names must resolve even where nobody can count.
          host.log.error(`cannot listen on ${address}, so nobody can read the numbers: ${(error as Error).message}`)
        }
      },
      async stop() {
        leave()
        for (const share of shares.reverse()) await share.release()
      }
    }
  }
} satisfies Plugin<typeof schema>
