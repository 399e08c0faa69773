/** What docs/skydns.md says of settings is what the command takes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { shownDuration } from '../src/corefile/value.js'
import { FLAGS } from '../src/skydns/given.js'
import { NAMES, SPECS, type Spec } from '../src/skydns/settings.js'
import { root } from './rules/source-file.js'

interface Row {
  readonly flags: readonly string[]
  readonly variables: readonly string[]
  readonly keys: readonly string[]
  /** As it is written. */
  readonly fallback: string
}

const [, section = ''] = readFileSync(join(root, 'docs/skydns.md'), 'utf8').split('\n## Its settings\n')
const rows = [...section.split('\n## ')[0]!.matchAll(/^\|(.*)\|$/gm)].slice(2).map(([, line = '']): Row => {
  const [flags = '', variables = '', keys = '', fallback = ''] = line.split('|').map((cell) => cell.trim())
  const words = (cell: string, word: RegExp): string[] => [...cell.matchAll(word)].map(([, found = '']) => found)
  return { flags: words(flags, /`-([\w-]+)`/g), variables: words(variables, /`(\w+)`/g), keys: words(keys, /`(\w+)`/g), fallback }
})
const specs = NAMES.map((name): Spec => SPECS[name])

test('each setting stands in the table with its flag, variable and keys, and nothing else does', () => {
  // A row may have several settings, which have no keys then.
  const told = rows.flatMap(({ flags, variables, keys }) =>
    Array.from({ length: Math.max(flags.length, variables.length, 1) }, (_, index) => [flags[index], variables[index], ...keys])
  )
  const ours = FLAGS.map(({ spellings }) => spellings[0]!).filter((flag) => !specs.some((spec) => spec.flag === flag))
  const others = ours.filter((flag) => flag !== 'help' && flag !== 'version').map((flag) => [flag, undefined])
  const settings = specs.map(({ flag, variable, keys = [] }) => [flag, variable, ...keys])
  expect(told.map((each) => each.join(' ')).toSorted()).toEqual([...settings, ...others].map((each) => each.join(' ')).toSorted())
})

test('with its default', () => {
  const shown = ({ kind, default: value }: Spec): string => (kind === 'duration' ? shownDuration(value as number) : String(value))
  // What stands for nothing is said in words.
  const told = specs.filter((spec) => shown(spec) !== '')
  expect(told.length).toBeGreaterThan(15)
  for (const spec of told) {
    const { flag = '', variable = '', keys = [] } = spec
    const row = rows.find(
      ({ flags, variables, keys: own }) => flags.includes(flag) || variables.includes(variable) || own.includes(keys[0]!)
    )
    expect([flag, variable, row?.fallback]).toEqual([flag, variable, expect.stringContaining(shown(spec))])
  }
})
