import { afterEach, describe, expect, test } from 'vitest'
import { clientProblems } from './dnssec-clients.js'
import type { KeyRole } from './dnssec-keys.js'
import { replayProblems } from './dnssec-replay.js'
import { type DnssecScene, startScene } from './dnssec-scene.js'
import { lower, shown } from './dnssec-wire.js'
import { needs } from './tools.js'

type Keys = readonly (readonly [number, KeyRole])[]

const split = (algorithm: number): Keys => [
  [algorithm, 'ksk'],
  [algorithm, 'zsk']
]

interface Run {
  readonly denial: 'nsec' | 'nsec3'
  readonly keys: Keys
  readonly count: number
  /** Questions for each of delv and drill. */
  readonly clients?: number
  /** Lines of `dnssec`. */
  readonly keyLines?: readonly string[]
  readonly hasChild?: boolean
  readonly threads?: number
}

const runs: readonly Run[] = [
  { denial: 'nsec', keys: [[13, 'csk']], count: 5_000, clients: 100 },
  { denial: 'nsec3', keys: [[13, 'csk']], count: 1_000, clients: 100 },
  { denial: 'nsec', keys: split(8), count: 1_000 },
  { denial: 'nsec3', keys: [[8, 'csk']], count: 1_000 },
  { denial: 'nsec', keys: [[10, 'csk']], count: 1_000 },
  { denial: 'nsec3', keys: split(10), count: 1_000 },
  { denial: 'nsec', keys: [[14, 'csk']], count: 1_000 },
  { denial: 'nsec3', keys: split(14), count: 1_000 },
  { denial: 'nsec', keys: split(15), count: 1_000 },
  { denial: 'nsec3', keys: [[15, 'csk']], count: 1_000 },
  {
    denial: 'nsec',
    keys: [
      [8, 'csk'],
      [13, 'csk']
    ],
    count: 300
  },
  {
    denial: 'nsec3',
    keys: [
      [13, 'csk'],
      [15, 'csk']
    ],
    count: 300
  },
  { denial: 'nsec3', keys: split(13), count: 300 },
  { denial: 'nsec', keys: [[8, 'ksk'], ...split(13)], count: 200 },
  {
    denial: 'nsec3',
    keys: [
      [8, 'ksk'],
      [13, 'zsk']
    ],
    count: 200
  },
  { denial: 'nsec', keys: split(15), count: 200, keyLines: ['keys ./keys', 'cache_capacity 3', 'verify 100'] },
  { denial: 'nsec', keys: [[13, 'csk']], count: 500, hasChild: true, threads: 2 },
  { denial: 'nsec3', keys: [[13, 'csk']], count: 500, hasChild: true, threads: 2 }
]

const rows = runs.map((run, index) => {
  const keys = run.keys.map(([algorithm, role]) => `a ${role} of ${algorithm}`).join(' and ')
  return [
    `${run.count} questions to a zone with ${run.denial} and ${keys}${run.hasChild ? ', and a zone below' : ''}${run.keyLines ? `, with ${run.keyLines.slice(1).join(', ')}` : ''}`,
    { ...run, index }
  ] as const
})

describe('validators agree', needs('unbound', 'nsd', 'dnssec-keygen', 'dnssec-signzone', 'delv', 'drill'), () => {
  let scene: DnssecScene
  afterEach(() => scene?.stop())

  test.each(rows)('on %s', async (_, { count, clients = 0, index, ...options }) => {
    // Each with and without the cache, aggressive over UDP or over TCP.
    const isEven = index % 4 < 2
    const lines = index % 3 === 0 ? ['loadbalance'] : ['cache', 'loadbalance']
    scene = await startScene({ ...options, lines, validators: [{ aggressive: isEven }, { tcp: true, aggressive: !isEven }] })
    expect(await scene.judgeRandom(count, 100 + index)).toEqual([])
    if (clients > 0)
      expect([...(await clientProblems(scene, 'delv', clients, 7)), ...(await clientProblems(scene, 'drill', clients, 8))]).toEqual([])
    expect(scene.faults).toEqual([])
    expect(scene.sets.size).toBeGreaterThan(count / 2)
    const signers = new Set([...scene.sets.values()].map(({ signature }) => shown(lower(signature.signer))))
    expect([...signers].sort()).toEqual(scene.zones.map(shown).sort())
    expect(await replayProblems(scene)).toEqual([])
  })
})
