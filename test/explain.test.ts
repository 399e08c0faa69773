/** What an explanation says, against what the upstream and the store have seen themselves. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Pass, Step } from '../src/chain/step.js'
import { systemClock } from '../src/process/clock.js'
import { explain } from '../src/process/explain.js'
import { type Key, keyOfPath, shownKey } from '../src/store/key.js'
import type { Entry } from '../src/store/store.js'
import { MemoryStore, serverOf, type TestServer } from '../src/testing.js'
import { type ListeningStandIn, startStandIn } from './upstream.js'

/** A store that notes what it is asked. */
class SpiedStore extends MemoryStore {
  readonly read = new Set<string>()

  override subtree(key: Key, limit?: number): Entry[] {
    this.read.add(shownKey(key))
    return super.subtree(key, limit)
  }

  override has(key: Key): boolean {
    this.read.add(shownKey(key))
    return super.has(key)
  }
}

const STUB_KEY = '/skydns/test/skydns/dns/stub'

const SERVICES = {
  '/skydns/test/skydns/web': { host: '10.0.0.1' },
  '/skydns/test/skydns/out': { host: 'host.example.org' },
  '/skydns/test/skydns/both/1': { host: 'host.example.org', port: 80 },
  '/skydns/test/skydns/both/2': { host: 'web.skydns.test', port: 80 }
}

let upstream: ListeningStandIn
let server: TestServer
const store = new SpiedStore()

beforeAll(async () => {
  upstream = await startStandIn({ delayMs: 20 })
  for (const [path, value] of Object.entries(SERVICES)) store.put(keyOfPath(path), JSON.stringify(value))
  const corefile = `. {\n  etcd skydns.test in-addr.arpa {\n    store ./data\n    fallthrough in-addr.arpa\n  }\n  forward . ${upstream.address}:${upstream.port}\n}`
  server = await serverOf(corefile, { services: store, clock: systemClock })
})
afterAll(async () => {
  await server.stop()
  await upstream.stop()
})

/** Every step, those of look-ups and those behind a cache too. */
function stepsOf({ steps, now }: Pass): Step[] {
  return [...steps.flatMap((step) => [step, ...step.lookUps.flatMap(stepsOf)]), ...(now === undefined ? [] : stepsOf(now))]
}

/** The questions of a pass and of its look-ups that an upstream has answered. */
function forwardedIn(pass: Pass | undefined): string[] {
  const own = pass?.steps.filter(({ layer, did }) => layer === 'forward' && did === 'answered').map(() => pass.question) ?? []
  const lookedUp = pass?.steps.flatMap(({ lookUps }) => lookUps.flatMap(forwardedIn)) ?? []
  return [...lookedUp, ...own, ...(pass?.now === undefined ? [] : forwardedIn(pass.now))]
}

describe('of the chain of Corefile.example the upstream saw what is told and no more, and each key has its name', () => {
  const QUESTIONS = [...new Set(Object.keys(SERVICES).map((path) => path.split('/')[4])), 'none'].map((label) => `${label}.skydns.test. A`)

  test.each<[question: string]>([...QUESTIONS, 'host.example.org. A', '1.2.0.192.in-addr.arpa. PTR'].map((question) => [question]))(
    '%s, asked twice',
    async (question) => {
      const corefile = `. {
        loadbalance
        cache
        stub skydns.test {
          store ./data
        }
        chaos
        etcd skydns.test in-addr.arpa {
          store ./data
          fallthrough in-addr.arpa
        }
        forward . ${upstream.address}:${upstream.port}
      }`
      const full = await serverOf(corefile, { services: store, clock: systemClock })
      const [name = '', type = ''] = question.split(' ')
      for (const isCached of [false, true]) {
        upstream.asked.length = 0
        const { pass } = await explain(full.instance, { name, type })
        // What does not exist comes without an SOA here, and is not kept.
        expect(pass?.now !== undefined).toBe(isCached && type !== 'PTR')
        expect(forwardedIn(pass)).toEqual(upstream.asked)
        const steps = stepsOf(pass!)
        expect(steps.filter(({ from }) => from?.unnamedKeys !== undefined)).toEqual([])
        expect(steps.some(({ from }) => from?.keys?.includes(STUB_KEY))).toBe(true)
      }
      await full.stop()
    }
  )
})

test('an answer of a stub zone’s server rests on the keys that say so as well, whether the zone is new or gone', async () => {
  const zones = new SpiedStore()
  const corefile = `. {\n  stub skydns.test {\n    store ./data\n  }\n  forward . ${upstream.address}:${upstream.port}\n}`
  const full = await serverOf(corefile, { services: zones, clock: systemClock })
  const last = async (): Promise<unknown[]> => {
    upstream.asked.length = 0
    const { pass } = await explain(full.instance, { name: 'host.example.org', type: 'A' })
    expect(upstream.asked).toEqual(['host.example.org. A'])
    return pass!.steps.map(({ layer, did, from }) => [layer, did, from?.kind, from?.keys, from?.revision])
  }
  const passed = (revision: number): unknown[] => ['stub', 'passed on', 'store', [STUB_KEY], revision]
  const forwarded = ['forward', 'answered', 'upstream', undefined, undefined]
  expect(await last()).toEqual([passed(1), forwarded])
  const key = keyOfPath(`${STUB_KEY}/org/example/a`)
  zones.put(key, JSON.stringify({ host: upstream.address, port: upstream.port }))
  expect(await last()).toEqual([['stub', 'answered', 'upstream', [STUB_KEY], 2]])
  zones.delete(key)
  expect(await last()).toEqual([passed(3), forwarded])
  await full.stop()
})

describe('the upstream and the store saw what is told', () => {
  test.each<[question: string]>([
    ['web.skydns.test. A'],
    ['none.skydns.test. A'],
    ['out.skydns.test. A'],
    ['both.skydns.test. SRV'],
    ['host.example.org. A'],
    ['nowhere.example.org. A'],
    // Read by a layer that then passes it on.
    ['1.2.0.192.in-addr.arpa. PTR']
  ])('%s', async (question) => {
    const [name = '', type = ''] = question.split(' ')
    store.read.clear()
    upstream.asked.length = 0
    const { pass } = await explain(server.instance, { name, type })
    const steps = stepsOf(pass!)
    const forwarded = steps.filter(({ layer, did }) => layer === 'forward' && did === 'answered')
    expect(forwarded.map(({ from }) => from?.upstream)).toEqual(upstream.asked.map(() => `${upstream.address}:${upstream.port}`))
    for (const { from, took } of forwarded) {
      // It waits 20 ms before it answers; a timer may fire a little early.
      expect(from?.rtt).toBeGreaterThan(15)
      expect(took).toBeGreaterThanOrEqual(from!.rtt!)
    }
    const questions = (told: Pass): string[] => [told.question, ...told.steps.flatMap(({ lookUps }) => lookUps.flatMap(questions))]
    for (const asked of upstream.asked) expect(questions(pass!)).toContain(asked)
    const keys = new Set(steps.flatMap(({ from }) => from?.keys ?? []))
    expect([...keys].sort()).toEqual([...store.read].sort())
    expect(steps.some(({ from }) => from?.unnamedKeys !== undefined)).toBe(false)
  })
})
