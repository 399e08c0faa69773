/** That each mark `FIX:` of the description of SkyDNS is true of a server that is set up like SkyDNS. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './rules/source-file.js'
import { ANSWERS, type Answers } from './skydns-fix-answers.js'
import { FIXES } from './skydns-fix-list.js'
import { PROOFS } from './skydns-fix-proofs.js'
import { play, SCENES, type Scene } from './skydns-fix-scenes.js'
import { startSkyDns, told } from './skydns-like.js'

const text = join(process.env.SKEIN_SHARED ?? join(root, '../shared'), 'reference/skydns2.md')
const answering = Object.entries(ANSWERS).map(([says, answers]): [string, Scene] => [says, () => answersRightly(answers)])
const checks = new Map<string, Scene>([...answering, ...Object.entries(SCENES), ...Object.entries(PROOFS)])
/** Marks of the text, each once: those of rows that follow each other with the same words are one. */
const marks = FIXES.filter(({ section, mark }, index) => mark !== FIXES[index - 1]?.mark || section !== FIXES[index - 1]?.section)

describe('what SkyDNS does wrong is right here', () => {
  test.each(FIXES.map(({ section, says }) => [section, says] as const))('§%i: %s', (_section, says) => play(checks.get(says)!))
})

describe('none is forgotten', () => {
  test('each row of the list is checked, and what is checked is in the list', () => {
    expect([...checks.keys()].toSorted()).toEqual(FIXES.map(({ says }) => says).toSorted())
    expect(checks.size).toBe(answering.length + Object.keys(SCENES).length + Object.keys(PROOFS).length)
  })

  test('the list has all 34 marks', () => {
    expect(marks).toHaveLength(34)
  })

  test.skipIf(!existsSync(text))('the list has the marks of the text, in its order', () => {
    const found = marksIn(readFileSync(text, 'utf8'))
    expect(found.map((each, index) => each.startsWith(`§${marks[index]?.section} ${marks[index]?.mark}`) || each)).toEqual(
      found.map(() => true)
    )
    expect(found).toHaveLength(marks.length)
  })
})

async function answersRightly({ asks, ...settings }: Answers): Promise<void> {
  const server = await startSkyDns(settings)
  try {
    const got: Record<string, readonly string[]> = {}
    for (const question of Object.keys(asks)) got[question] = await told(server, question, { edns: 4096 })
    expect(got).toEqual(asks)
  } finally {
    await server.stop()
  }
}

/** The marks of the text, each with its section and the words behind it. The sections are its headings. */
function marksIn(description: string): string[] {
  const sections = description.split(/^## (?=\d+\.)/m).slice(1)
  return sections.flatMap((section) =>
    [...section.matchAll(/\bFIX: (?=([\s\S]{0,60}))/g)].map(
      ([, words]) => `§${Number.parseInt(section, 10)} ${words!.replace(/\s+/g, ' ')}`
    )
  )
}
