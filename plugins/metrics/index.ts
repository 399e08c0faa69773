import {
  blockServed,
  type Host,
  HTTP_ADDRESS,
  httpPlace,
  type Plugin,
  type Query,
  type Schema,
  type Sent,
  type Shared,
  signaturesMade
} from 'skein/plugin'
import { buildInfo } from './build-info.js'
import { Enabled } from './enabled.js'
import { NumbersEnd } from './end.js'
import { SkydnsTraffic } from './skydns.js'
import { Traffic } from './traffic.js'

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
      about: 'where the numbers are read, by HTTP'
    }
  ],
  options: {
    path: {
      args: [{ name: 'PATH', type: 'text', pattern: /^\/[\w.~!$&'()*+,;=:@%/-]*$/, expected: 'a path such as /metrics' }],
      default: '/metrics',
      about: 'the path there'
    },
    skydns: {
      args: [
        {
          name: 'NAMESPACE',
          type: 'text',
          pattern: /^[a-zA-Z_:][\w:]*$/,
          expected: 'the first part of names such as skydns: letters, digits, _ and :, no digit first',
          optional: true,
          default: 'skydns'
        },
        {
          name: 'SUBSYSTEM',
          type: 'text',
          pattern: /^[\w:]+$/,
          expected: 'the second part of names such as skydns: letters, digits, _ and :',
          optional: true,
          default: 'skydns'
        }
      ],
      about: 'tells SkyDNS’s numbers too, as `NAMESPACE_SUBSYSTEM_dns_…`; both are `skydns` where left out'
    },
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
  setup({ args: [given], options: { path, skydns } }, host) {
    const place = httpPlace(given)
    const panics = host.metrics.counter('coredns_panics_total', 'Queries that ended in a fault of a plugin.')
    const end = new NumbersEnd(place, path, host)
    const shares: Shared<unknown>[] = []
    let traffic: Traffic | undefined
    let skydnsTraffic: SkydnsTraffic | undefined
    let leave = (): void => {}
    function observe(query: Query, sent: Sent): void {
      if (sent.error !== undefined) panics.value++
      // Look-ups of the server for itself belong to the query that they are made for.
      if (query.depth === 0) traffic?.count(query, sent)
    }
    function observeBoth(query: Query, sent: Sent): void {
      observe(query, sent)
      if (query.depth === 0) skydnsTraffic?.count(query, sent)
    }
    return {
      reach: { listens: place.listens },
      inPlace: true,
      // It costs each query of the chain a note.
      wantsLayer: skydns !== undefined,
      observe: skydns === undefined ? observe : observeBoth,
      async start() {
        const counting = await countTogether(host)
        shares.push(counting)
        traffic = counting.value.traffic
        const { enabled } = counting.value
        const blocks = host.find(blockServed)
        for (const block of blocks) enabled.add(block)
        leave = () => {
          for (const block of blocks) enabled.remove(block)
        }
        if (skydns !== undefined) {
          const shared = await countForSkydns(skydns.join('_'), host)
          shares.push(shared)
          skydnsTraffic = shared.value
        }
        await end.open()
      },
      refreshed: () => end.refreshed(),
      async stop() {
        leave()
        await end.close()
        for (const share of shares.reverse()) await share.release()
      }
    }
  }
} satisfies Plugin<typeof schema>

/** All server blocks count together, and go on counting where a reload keeps one. */
async function countTogether(host: Host): Promise<Shared<{ readonly traffic: Traffic; readonly enabled: Enabled }>> {
  return host.shared(
    'metrics',
    () => {
      const value = { traffic: new Traffic(), enabled: new Enabled() }
      const families = () => [buildInfo(host.version), value.enabled.family(), ...value.traffic.families()]
      return { value, close: host.metrics.collect(families) }
    },
    'thread'
  )
}

/** So do those whose names of SkyDNS begin alike. */
async function countForSkydns(prefix: string, host: Host): Promise<Shared<SkydnsTraffic>> {
  const shared = await host.shared(
    `metrics/skydns ${prefix}`,
    () => {
      const value = new SkydnsTraffic(prefix)
      return { value, close: host.metrics.collect(() => value.families()) }
    },
    'thread'
  )
  // Whoever signs stands behind, and offers it after this has started.
  const stopAsking = shared.value.askFor(() => host.find(signaturesMade).reduce((sum, made) => sum + made(), 0))
  return {
    value: shared.value,
    release() {
      stopAsking()
      return shared.release()
    }
  }
}
