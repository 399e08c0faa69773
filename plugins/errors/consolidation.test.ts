import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-consolidation-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Fails with the first label of the name as its problem, `_` for a space. */
const fails = join(folder, 'node_modules/skein-plugin-fails')
mkdirSync(fails, { recursive: true })
writeFileSync(join(fails, 'package.json'), '{"type":"module","exports":"./index.js"}')
writeFileSync(
  join(fails, 'index.js'),
  `const problem = ({ qname }) => qname.split('.')[0].replaceAll('_', ' ').replace('long', 'x'.repeat(999) + 'yz')
  export default { name: 'fails', api: 1, setup: () => ({ handle: (query) => query.fail('SERVFAIL', 'x', { problem: problem(query) }) }) }`
)

/** Timers that a clock still has. */
class CountingClock extends TestClock {
  waiting = 0

  override after(milliseconds: number, fire: () => void): { cancel(): void } {
    this.waiting++
    let isOver = false
    const over = (): void => {
      if (!isOver) this.waiting--
      isOver = true
    }
    const timer = super.after(milliseconds, () => {
      over()
      fire()
    })
    return {
      cancel: () => {
        over()
        timer.cancel()
      }
    }
  }
}

function start(lines: readonly string[], clock: TestClock = new TestClock()): Promise<TestServer> {
  const block = lines.map((line) => `    consolidate ${line}\n`).join('')
  return serverOf(`. {\n  debug\n  errors {\n${block}  }\n  fails\n}`, { file: join(folder, 'Corefile'), clock })
}

/** What is told: numbers pass milliseconds, words are what queries fail with. */
async function told(lines: readonly string[], steps: readonly (string | number)[]): Promise<readonly string[]> {
  const clock = new TestClock()
  const server = await start(lines, clock)
  for (const step of steps) {
    if (typeof step === 'number') clock.advance(step)
    else await server.ask(`${step}. A`)
  }
  const found = [...server.log.lines]
  await server.stop()
  return found.map((line) => line.replace('plugin/errors: ', ''))
}

describe('errors that match are told in one line', () => {
  test.each<[string, string[], (string | number)[], string[]]>([
    ['at the end of the time', ['30s ^a'], ['ab', 'ac', 29_999], []],
    [
      'which begins with the first of them',
      ['30s ^a'],
      [60_000, 'ab', 29_999, 'ac', 1],
      ["[ERROR] 2 errors like '^a' occurred in last 30s"]
    ],
    ['one of them as well', ['30s ^a'], ['ab', 30_000], ["[ERROR] 1 errors like '^a' occurred in last 30s"]],
    ['and none where there was none', ['30s ^a'], ['ab', 90_000], ["[ERROR] 1 errors like '^a' occurred in last 30s"]],
    [
      'again for each time',
      ['1s a'],
      ['a', 'a', 1000, 'a', 1000],
      ["[ERROR] 2 errors like 'a' occurred in last 1s", "[ERROR] 1 errors like 'a' occurred in last 1s"]
    ],
    ['while others are told at once', ['30s ^a'], ['ba', 'ab'], ['[ERROR] 2 ba. A: ba']],
    [
      'by the first that matches',
      ['1s "^a b"', '2s ^a', '3s .*'],
      ['ab', 'a_b', 'c', 5000],
      [
        "[ERROR] 1 errors like '^a b' occurred in last 1s",
        "[ERROR] 1 errors like '^a' occurred in last 2s",
        "[ERROR] 1 errors like '.*' occurred in last 3s"
      ]
    ],
    [
      'at the level that is named',
      ['1ms a error', '1ms b warning', '1ms c info', '1ms d debug'],
      ['a', 'b', 'c', 'd', 1],
      ['ERROR a', 'WARNING b', 'INFO c', 'DEBUG d'].map((line) => line.replace(/(\w+) (.)/, "[$1] 1 errors like '$2' occurred in last 1ms"))
    ],
    [
      'the first of several at once',
      ['1s a warning show_first'],
      ['a', 'a', 'a', 1000],
      ['[WARNING] 2 a. A: a', "[WARNING] 3 errors like 'a' occurred in last 1s"]
    ],
    ['the first alone at once, and no more', ['1s a show_first'], ['a', 1000, 'a', 1000], ['[ERROR] 2 a. A: a', '[ERROR] 2 a. A: a']],
    ['whose pattern stays on it', ['1s "a|\n[INFO]"'], ['a', 1000], ["[ERROR] 1 errors like 'a| [INFO]' occurred in last 1s"]],
    ['by the first 1000 characters', ['1s y$', '1s z$'], ['long', 1000], ["[ERROR] 1 errors like 'y$' occurred in last 1s"]]
  ])('%s', async (_title, lines, steps, expected) => {
    expect(await told(lines, steps)).toEqual(expected)
  })

  test.each([
    ['300ms', '300ms'],
    ['1.5s', '1.5s'],
    ['90s', '1m30s'],
    ['5m', '5m0s'],
    ['2h45m', '2h45m0s'],
    ['3600s', '1h0m0s']
  ])('which says how long %s is as CoreDNS does', async (duration, shown) => {
    expect(await told([`${duration} a`], ['a', 86_400_000])).toEqual([`[ERROR] 1 errors like 'a' occurred in last ${shown}`])
  })

  test('and all are counted', async () => {
    const server = await start(['1s a'])
    for (const name of ['a', 'a', 'b']) await server.ask(`${name}. A`)
    expect(server.counter('skein_errors_total')).toBe(3)
    await server.stop()
  })
})

test('a timer runs only while something waits', async () => {
  const clock = new CountingClock()
  const server = await start(['1s a', '2s b'], clock)
  const counts = [clock.waiting]
  for (const name of ['a', 'a', 'b', 'c']) {
    await server.ask(`${name}. A`)
    counts.push(clock.waiting)
  }
  clock.advance(1000)
  counts.push(clock.waiting)
  await server.stop()
  expect([...counts, clock.waiting]).toEqual([0, 1, 1, 2, 2, 1, 0])
})

test('what waits is told when the server stops, and what comes later at once', async () => {
  const server = await start(['1h a', '1h b info show_first', '1h c'])
  for (const name of ['a', 'a', 'b']) await server.ask(`${name}. A`)
  await server.stop()
  await server.ask('a. A')
  expect(server.log.lines.map((line) => line.replace('plugin/errors: ', ''))).toEqual([
    '[INFO] 2 b. A: b',
    "[ERROR] 2 errors like 'a' occurred in last 1h0m0s",
    '[ERROR] 2 a. A: a'
  ])
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['5m', 'expected REGEXP after "5m": a regular expression'],
    ['5 a', 'expected a duration such as 30s or 5m, at least 1ms, not "5"'],
    ['-5m a', 'expected a duration such as 30s or 5m, at least 1ms, not "-5m"'],
    ['0s a', 'expected a duration such as 30s or 5m, at least 1ms, not "0s"'],
    ['5m a fatal', 'expected one of warning, error, info, debug, not "fatal"'],
    ['5m a warn', 'expected one of warning, error, info, debug, not "warn": did you mean warning?'],
    ['5m a warning error', 'expected no argument or show_first, not "error"'],
    ['5m a show_first warning', 'expected at most 3 arguments, not "warning"'],
    ['5m "(timeout"', 'expected a regular expression of Go (RE2), not "(timeout": missing closing ): `(timeout`'],
    ['5m (?=a)', 'expected a regular expression of Go (RE2), not "(?=a)": invalid or unsupported Perl syntax: `(?=`']
  ])('consolidate %s', async (line, problem) => {
    const message = `${folder}/Corefile:5: errors: consolidate: ${problem}`
    await expect(start(['1s fine', line, '1s fine'])).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
