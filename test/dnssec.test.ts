import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientProblems, clients } from './dnssec-clients.js'
import { ask } from './dnssec-judging.js'
import { makeKey } from './dnssec-keys.js'
import { passOff, replayProblems } from './dnssec-replay.js'
import { type DnssecScene, startScene } from './dnssec-scene.js'
import { ZONE } from './dnssec-tree.js'
import type { Labels } from './dnssec-wire.js'
import { needs } from './tools.js'

const [SERVFAIL, NXDOMAIN] = [2, 3]
/** On a machine that has much to do. */
const PATIENCE_MS = 60_000
const at = (...labels: string[]): Labels => [...labels, ...ZONE]

/** Whose replies arrive as whose: a positive answer, denials of both kinds, and what is said of `*`. */
const forgeries: readonly (readonly [string, Labels, Labels, string])[] = [
  ['an address of another name', at('addr4'), at('nothr'), 'A'],
  ['an address of the name beside', at('1', 'a', 'pool'), at('2', 'a', 'pool'), 'A'],
  ['an address below another name', at('1', 'b', 'pool'), at('1', 'q', 'pool'), 'AAAA'],
  ['an alias of another name', at('inside'), at('onside'), 'A'],
  ['the denial of another name', at('nothr'), at('addr4'), 'A'],
  ['the denial of a type', at('addr6'), at('addr4'), 'A'],
  ['the denial of a name beside', at('z', 'a', 'pool'), at('1', 'a', 'pool'), 'A'],
  ['what is said of *', at('*', 'pool'), at('a', 'pool'), 'A'],
  ['what is said of * below', at('*', 'a', 'pool'), at('1', 'a', 'pool'), 'A']
]

describe.for(['nsec', 'nsec3'] as const)('a zone with %s', (denial) => {
  const needed = needs('unbound', 'nsd', 'dnssec-keygen', 'dnssec-signzone', 'delv', 'drill')
  describe('is signed on the fly', needed, () => {
    let scene: DnssecScene
    beforeAll(async () => {
      const validators = [{ aggressive: true }, { tcp: true }, { isPlain: true, keepsFor: 0 }]
      scene = await startScene({ denial, keys: [[13, 'csk']], lines: ['cache', 'loadbalance'], validators })
    }, PATIENCE_MS)
    afterAll(() => scene?.stop())

    test(
      'Unbound finds every answer secure, and the same as without signatures',
      async () => {
        expect(await scene.judgeRandom(150, denial === 'nsec' ? 1 : 2)).toEqual([])
      },
      PATIENCE_MS
    )

    test.each([
      ['delv', 10],
      ['drill', 6]
    ] as const)('%s finds them secure too', async (name, count) => {
      expect(await clientProblems(scene, name, count, 3)).toEqual([])
    })

    test.each(['delv', 'drill'] as const)('%s finds fault with a key that is not the zone’s', async (name) => {
      const key = await makeKey(scene.cwd, ZONE.join('.'), 13)
      const question = { labels: at('addr4'), qname: 'addr4.skydns.test.', qtype: 'A', transport: 'udp' } as const
      expect(await clients[name](question, { port: scene.tap.port, zone: 'skydns.test.', key }, scene.cwd)).toMatch(/\S/)
    })

    test.each(forgeries)('a validator does not take %s for that of this name', async (_, donor, victim, qtype) => {
      const forger = scene.validators[2]!
      const qname = `${victim.join('.')}.`
      const honest = await ask(forger.port, { qname, qtype }, { dnssecOk: true })
      expect(honest.isAuthentic).toBe(true)
      scene.tap.rewrite = passOff(donor, victim)
      try {
        const [taken, checked] = [
          await ask(forger.port, { qname, qtype }, { dnssecOk: true, unchecked: true }),
          await ask(forger.port, { qname, qtype }, { dnssecOk: true })
        ]
        // The forgery does arrive: whoever does not check takes it. Under nsec there is none of `*`.
        expect(taken.rcode === SERVFAIL).toBe(denial === 'nsec' && donor[0] === '*')
        expect(checked.rcode).toBe(SERVFAIL)
      } finally {
        scene.tap.rewrite = undefined
      }
    })

    test('a name that does not exist is NXDOMAIN to those who know compact denial', async () => {
      const question = { qname: 'nope.skydns.test.', qtype: 'A' }
      const reply = await ask(scene.port, question, { dnssecOk: true, compactOk: true })
      expect([reply.rcode, reply.hasCompactFlag]).toEqual([NXDOMAIN, denial === 'nsec'])
    })

    test('all signatures hold for their own name alone, and are right in their times and labels', async () => {
      expect(scene.faults).toEqual([])
      expect(scene.sets.size).toBeGreaterThan(100)
      expect(await replayProblems(scene)).toEqual([])
    })
  })
})
