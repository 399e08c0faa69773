import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { ask, judgeAll } from './dnssec-judging.js'
import { makeKey, type ZoneKey } from './dnssec-keys.js'
import { randomQuestions } from './dnssec-questions.js'
import { replayProblems } from './dnssec-replay.js'
import { type DnssecScene, startScene } from './dnssec-scene.js'
import { treeNames, ZONE } from './dnssec-tree.js'
import { signaturesIn } from './dnssec-wire.js'
import { needs } from './tools.js'

/** Seconds that validators keep anything. */
const KEEPS = 1
/** How long each step of the roll is, so that nothing from before the step before it is kept. */
const STEP_MS = 2_500 * KEEPS

/** Asks all the time; `problems` holds what was not found secure. */
class Asker {
  readonly problems: string[] = []
  asked = 0
  #isOver = false
  readonly #done: Promise<void>

  constructor(scene: DnssecScene) {
    this.#done = this.#run(scene)
  }

  // What a reload changes between three questions is no fault; that it is bogus is.
  async #run(scene: DnssecScene): Promise<void> {
    for (let seed = 1; !this.#isOver; seed++) {
      const questions = randomQuestions(treeNames(), ZONE, 40, seed % 20)
      const wrong = await Promise.all(scene.validators.map((validator) => judgeAll(questions, scene.judged(validator), 4)))
      this.problems.push(...wrong.flat().filter((problem) => / (is bogus|is not secure|has the rcode)|^Error/.test(problem)))
      this.asked += questions.length * wrong.length
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#done
  }
}

describe('a key is rolled', needs('unbound', 'nsd', 'dnssec-keygen', 'dnssec-signzone'), () => {
  let scene: DnssecScene
  let asker: Asker | undefined
  afterEach(async () => {
    await asker?.stop()
    await scene?.stop()
  })

  const tagsUsed = async (): Promise<number[]> => {
    const reply = await ask(scene.port, { qname: 'addr4.skydns.test.', qtype: 'A' }, { dnssecOk: true })
    return [...new Set(signaturesIn(reply).map(({ keyTag }) => keyTag))].sort((one, other) => one - other)
  }
  const tagsOf = (...keys: ZoneKey[]): number[] => keys.map(({ ds }) => Number(ds.split(' ')[0])).sort((one, other) => one - other)
  const keyFile = ({ base }: ZoneKey): string => `key file ${base}`

  test.each([
    ['by files that come and go, told by SIGHUP', 13, 13, 'nsec', 'folder'],
    ['by files that come and go, told by reload', 8, 13, 'nsec3', 'folder'],
    ['by lines of the Corefile', 13, 15, 'nsec', 'lines']
  ] as const)('%s: from algorithm %i to %i, %s, and nothing is ever bogus', async (how, from, to, denial, where) => {
    const validators = [
      { keepsFor: KEEPS, aggressive: true },
      { keepsFor: KEEPS, tcp: true }
    ]
    scene = await startScene({ denial, keys: [[from, 'csk']], lines: ['cache'], validators })
    const [old] = scene.keys as [ZoneKey]
    const reload = async (...keys: ZoneKey[]): Promise<void> => {
      if (where === 'lines') return scene.reload(keys.map(keyFile))
      if (!how.endsWith('SIGHUP')) return scene.reload()
      const reloads = (): number => scene.server.output().split('reload').length
      const before = reloads()
      process.kill(scene.server.pid, 'SIGHUP')
      for (let tries = 0; reloads() === before && tries < 100; tries++) await sleep(50)
    }
    asker = new Asker(scene)
    await sleep(STEP_MS)
    expect(await tagsUsed()).toEqual(tagsOf(old))
    const folder = where === 'folder' ? scene.keysFolder : `${scene.cwd}/new`
    const next = await makeKey(folder, ZONE.join('.'), to)
    await reload(old, next)
    await sleep(STEP_MS)
    expect(await tagsUsed()).toEqual(tagsOf(old, next))
    await scene.chain.delegate([old, next])
    await sleep(STEP_MS)
    await scene.chain.delegate([next])
    await sleep(STEP_MS)
    if (where === 'folder') for (const suffix of ['key', 'private']) rmSync(`${old.base}.${suffix}`)
    await reload(next)
    await sleep(STEP_MS)
    expect(await tagsUsed()).toEqual(tagsOf(next))
    await asker.stop()
    expect(asker.asked).toBeGreaterThan(500)
    expect(asker.problems).toEqual([])
    expect(scene.faults).toEqual([])
    const now = [...scene.sets.values()].filter(({ signature }) => signature.keyTag === tagsOf(next)[0])
    expect(now.length).toBeGreaterThan(50)
    expect((await replayProblems(scene)).filter((problem) => !problem.endsWith('does not hold'))).toEqual([])
  })

  test('where the old key goes before the parent knows of the new one, it is bogus', async () => {
    scene = await startScene({ denial: 'nsec', keys: [[13, 'csk']], lines: ['cache'], validators: [{ keepsFor: KEEPS }] })
    asker = new Asker(scene)
    await sleep(STEP_MS)
    expect(asker.problems).toEqual([])
    await scene.reload([keyFile(await makeKey(`${scene.cwd}/new`, ZONE.join('.'), 13))])
    await sleep(STEP_MS)
    await asker.stop()
    expect(asker.problems.filter((problem) => problem.includes('is bogus')).length).toBeGreaterThan(10)
  })
})
