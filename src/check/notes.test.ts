import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { check } from './check.js'
import { checkJson } from './json.js'
import { checkText } from './text.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-check-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const conf = join(folder, 'Corefile')
const plugin = join(folder, 'node_modules/skein-plugin-smith')
mkdirSync(plugin, { recursive: true })
writeFileSync(join(plugin, 'package.json'), '{"type":"module","exports":"./index.js"}')
writeFileSync(
  join(plugin, 'index.js'),
  `export default { name: 'smith', api: 1,
    schema: { args: [{ name: 'KEYS', type: 'text', rest: true, optional: true }], about: 'makes keys' },
    setup: ({ args: [keys] }) => ({
      handle: (query, next) => next(query),
      reach: { answers: false, makes: keys.map((key) => 'makes a key for ' + key + ' in ./keys') }
    })
  }`
)

const checked = (corefile: string): ReturnType<typeof check> => {
  writeFileSync(conf, corefile)
  return check({ conf, defaultPort: 53, builtInOnly: false, version: 'Skein-test' })
}

const ZONE = 'skydns.local.'

/** The last lines of the text: those of findings, and whether it would start. */
async function text(corefile: string): Promise<string[]> {
  const lines = checkText(await checked(corefile), 53)
    .replaceAll(`${folder}/`, '')
    .split('\n')
  return lines.filter((line) => /^(error|warning|note): | would /.test(line))
}

describe('what the start makes is a note', () => {
  test('with its place, and counts as nothing', async () => {
    expect(await text(`.:1053 {\n  bind 127.0.0.1\n  smith ${ZONE}\n  whoami\n}\n`)).toEqual([
      `note: Corefile:3: smith: the start makes a key for ${ZONE} in ./keys`,
      'Corefile would start'
    ])
  })

  test('for each that is made, behind errors and warnings, which alone are counted', async () => {
    const corefile = `.:1053 {\n  bind 127.0.0.1\n  smith a. b.\n  whoami\n  forward . 192.0.2.1\n  log {\n clas x\n }\n}\na {\n smith c.\n whoami\n}\n`
    const lines = await text(corefile)
    expect(lines.map((line) => line.split(':')[0])).toEqual(['error', 'warning', 'note', 'note', 'note', 'Corefile would not start'])
    expect(lines.slice(2, 5)).toEqual([
      'note: Corefile:3: smith: the start makes a key for a. in ./keys',
      'note: Corefile:3: smith: the start makes a key for b. in ./keys',
      'note: Corefile:11: smith: the start makes a key for c. in ./keys'
    ])
    expect(lines.at(-1)).toBe('Corefile would not start: 1 error, 1 warning')
  })

  test('that is not there where nothing is made', async () => {
    expect(await text('.:1053 {\n  bind 127.0.0.1\n  smith\n  whoami\n}\n')).toEqual(['Corefile would start'])
  })

  test('in JSON too', async () => {
    const { starts, findings } = JSON.parse(
      checkJson(await checked(`.:1053 {\n  bind 127.0.0.1\n  smith ${ZONE}\n  whoami\n}\n`), 53)
    ) as Record<string, unknown>
    expect([starts, findings]).toEqual([
      true,
      [
        {
          severity: 'note',
          code: 'makes',
          problem: `smith: the start makes a key for ${ZONE} in ./keys`,
          file: conf,
          line: 3,
          column: 3
        }
      ]
    ])
  })
})
