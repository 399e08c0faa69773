import { describe, expect, test } from 'vitest'
import { type CorefileCase, canonicalLines, corefileCases, type Verdict, verdictOf } from './corefile-cases.js'
import { NO_WARNING, OF_MACHINE, SKIPPED, whySkipped } from './corefile-skips.js'

/** The topics of the language; what a directive warns of is for its plugin's tests. */
const LANGUAGE = new Set(['lexing', 'blocks', 'keys', 'import', 'environment'])

const cases = corefileCases().map((given) => ({ ...given, name: `${given.topic}: ${given.title}`, why: whySkipped(given) }))
const run = cases.filter(({ why }) => why === undefined)

const counts = new Map<string, number>()
for (const { why } of cases) if (why !== undefined) counts.set(why, (counts.get(why) ?? 0) + 1)
const told = [...counts]
  .sort(([, a], [, b]) => b - a)
  .map(([why, count]) => `${count}: ${why}`)
  .join('; ')

test(`of ${cases.length} Corefile cases ${run.length} run, and ${cases.length - run.length} are skipped (${told})`, () => {
  const names = new Set(cases.map(({ name }) => name))
  const listed = Object.values(SKIPPED).flat()
  expect(listed.filter((name) => !names.has(name))).toEqual([])
  expect(listed.length, 'each is listed once').toBe(new Set(listed).size)
  // One that is skipped for what Skein lacks needs no line of its own.
  const needed = new Set(cases.filter(({ why }) => why !== undefined && why in SKIPPED).map(({ name }) => name))
  expect(listed.filter((name) => !needed.has(name))).toEqual([])
})

describe('the whole server takes and refuses what CoreDNS does, or what is better', () => {
  test.each(run.map((given) => [given.name, given] as const))('%s', async (_name, given) => {
    await expectRight(given)
  })
})

test('a listed case does not pass: where it does, its line goes', async () => {
  const passing: string[] = []
  for (const given of cases.filter(({ why }) => why !== undefined && why in SKIPPED && why !== OF_MACHINE)) {
    await expectRight(given).then(
      () => passing.push(given.name),
      () => {}
    )
  }
  expect(passing).toEqual([])
})

async function expectRight(given: CorefileCase): Promise<void> {
  const result = await verdictOf(given)
  const right = given.either ? [true, false] : [given.better ?? given.accept]
  expect(right, JSON.stringify(result)).toContain(result.zones !== undefined)
  if (result.zones !== undefined) expectLines(given, result.zones, result)
  else {
    // Refused for another reason, it would pass by chance.
    expect(result.message).not.toContain('not supported yet')
    // With `better` the message is the accident; ours stands at the mistake itself.
    if (given.better === undefined && given.error?.line)
      expect(result.at, result.message).toEqual({ file: given.error.file ?? 'Corefile', line: given.error.line })
  }
}

function expectLines(given: CorefileCase, zones: readonly string[], { warnings = [] }: Verdict): void {
  const lists = [given.zones, given.betterZones].filter((list) => list !== undefined).map(canonicalLines)
  if (given.accept || lists.length > 0) expect(lists).toContainEqual(zones)
  // Where something else is better, the warning is of the accident.
  if (given.better !== undefined) return
  const said = warnings.filter((text) => !text.includes(' is not set'))
  const expected = given.warning !== undefined && !NO_WARNING.has(`${given.topic}: ${given.title}`)
  if (LANGUAGE.has(given.topic) || !expected) expect(said.length > 0, said.join('; ')).toBe(expected)
}
