import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { check } from './check.js'
import { shownFinding } from './finding.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-missed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'package.json'), '{"type":"module"}')

/** A plugin that misses what another offers at set-up. */
const lines = [
  "const salt = { name: 'salt' }",
  "export const eggs = { name: 'eggs', api: 1, schema: { about: 'eggs', args: [{ name: 'HOW', type: 'text', rest: true, optional: true }] }, setup(config, host) { return { handle: (query, next) => next(query),",
  "  verify() { if (host.find(salt).length === 0) { if (config.args[0][0]) throw new Error('no spoon'); config.fail('no salt is here') } } } } }",
  "export const shaker = { name: 'shaker', api: 1, setup(config, host) { host.offer(salt, 1); return {} } }"
]
writeFileSync(join(folder, 'table.js'), lines.join('\n'))
for (const name of ['eggs', 'shaker']) writeFileSync(join(folder, `${name}.js`), `export { ${name} as default } from './table.js'`)

/** The errors that are found. */
async function errors(directives: string, builtInOnly = false): Promise<string[]> {
  const conf = join(folder, 'Corefile')
  writeFileSync(conf, `.:1053 {\nbind 127.0.0.1\nwhoami\nplugin ./eggs.js\nplugin ./shaker.js\n${directives}\n}`)
  const { findings } = await check({ conf, defaultPort: 53, builtInOnly, version: 'Skein-test' })
  return findings.filter(({ severity }) => severity === 'error').map((finding) => shownFinding(finding).replaceAll(`${folder}/`, ''))
}

describe('what a plugin misses in its server block is found', () => {
  test.each<[string, string, string[]]>([
    ['not there', 'eggs', ['Corefile:6: eggs: no salt is here']],
    [
      'not there, and it says so in its own way',
      'eggs soft',
      ['Corefile:6: eggs: its plugin failed to look at its server block: no spoon (at table.js:3)']
    ],
    ['there, behind it in the chain', 'eggs\nshaker', []],
    ['wrong itself, which is told alone', 'eggs\nshaker on', ['Corefile:7: shaker: expected no argument, not "on"']],
    [
      'the store of etcd, which a built-in plugin misses',
      'stub a {\netcd\n}',
      ['Corefile:7: stub: etcd: no `etcd` stands in this server block, expected one, or `store [DIR]` here']
    ]
  ])('%s', async (_title, directives, expected) => {
    expect(await errors(directives)).toEqual(expected)
  })

  test('but where somebody was left out, who may have it', async () => {
    expect(await errors('stub a {\netcd\n}\nshaker', true)).toEqual([])
  })
})
