import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { ask } from './dnssec-judging.js'
import { replayProblems } from './dnssec-replay.js'
import { type DnssecScene, startScene } from './dnssec-scene.js'
import { type Signature, signaturesIn } from './dnssec-wire.js'
import { temporaryFolder } from './processes.js'
import { needs, tool } from './tools.js'

const DAY = 86_400
const A = 1

/** A clock for other processes, which can be moved while they run. */
interface MovableClock {
  readonly env: Record<string, string>
  /** Seconds since 1970, for those processes. */
  readonly now: () => number
  /** Moves it to so many seconds after the real time. */
  moveTo(seconds: number): Promise<void>
}

async function movableClock(): Promise<MovableClock> {
  const file = join(temporaryFolder().path, 'clock')
  const { stdout: library } = await promisify(execFile)(tool('faketime'), ['-m', '-f', '+0d', 'printenv', 'LD_PRELOAD'])
  let offset = 0
  const write = (): void => writeFileSync(file, `+${offset}\n`)
  write()
  return {
    env: { LD_PRELOAD: library.trim(), FAKETIME_TIMESTAMP_FILE: file, FAKETIME_CACHE_DURATION: '1' },
    now: () => Date.now() / 1000 + offset,
    async moveTo(seconds) {
      offset = seconds
      write()
      // Each process reads the file again after a second.
      await sleep(2_500)
    }
  }
}

describe('signatures are renewed', needs('unbound', 'nsd', 'dnssec-keygen', 'dnssec-signzone', 'faketime'), () => {
  let scene: DnssecScene
  afterEach(() => scene?.stop())

  const signatureOf = async (qname: string): Promise<Signature> =>
    signaturesIn(await ask(scene.port, { qname, qtype: 'A' }, { dnssecOk: true })).find(({ covers }) => covers === A)!

  test.each([
    ['nsec', ['cache']],
    ['nsec3', []]
  ] as const)('before they end, by a server that runs for weeks: %s, %s', async (denial, lines) => {
    const clock = await movableClock()
    // Over UDP alone: a connection that was idle for days is taken for a server that is away.
    const validators = [{ aggressive: true }, {}]
    scene = await startScene({ denial, keys: [[13, 'csk']], lines, validators, env: clock.env, now: clock.now })
    const first = await signatureOf('addr4.skydns.test.')
    expect(Math.abs(first.inception - clock.now())).toBeLessThan(DAY)
    const seen = new Set<number>()
    // The same questions each time, so that their signatures are kept from the time before.
    for (const seconds of [0, 3_600, 3 * DAY, 5.5 * DAY, 6.5 * DAY, 7.5 * DAY, 8 * DAY, 16 * DAY]) {
      if (seconds > 0) await clock.moveTo(seconds)
      expect([seconds, await scene.judgeRandom(150, 11)]).toEqual([seconds, []])
      expect([seconds, scene.faults]).toEqual([seconds, []])
      const { expiration } = await signatureOf('addr4.skydns.test.')
      if (seconds === 3_600) expect(expiration).toBe(first.expiration)
      expect(expiration).toBeGreaterThan(clock.now() + 3_600)
      seen.add(expiration)
    }
    expect(seen.size).toBeGreaterThan(2)
    expect(await replayProblems(scene)).toEqual([])
  })
})
