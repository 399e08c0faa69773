import { expect, test } from 'vitest'
import { fromClone } from './cloned.js'
import { nothingOutside } from './outside.js'
import { parseCorefile } from './parser.js'
import { treeOf } from './same-tree.js'
import { parseToml } from './toml-blocks.js'

const TOML = '[[server]]\nkeys = "."\nforward = { from = ".", to = ["192.0.2.1"], max_concurrent = 3 }\n'

test.each([
  ['a Corefile', parseCorefile('a b:54 {\n  etcd {\n    store data {\n      x y\n    }\n  }\n  log "x y"\n}\nc {\n}\n', 'Corefile').blocks],
  ['TOML', parseToml(TOML, 'skein.toml', nothingOutside).blocks]
])('what another thread was sent of %s is the same again, with places, parents and methods', (_, blocks) => {
  const again = fromClone(structuredClone(blocks))
  expect(again).toEqual(blocks)
  expect(treeOf(again)).toEqual(treeOf(blocks))
  for (const [index, { directives }] of again.entries())
    for (const [at, directive] of directives.entries()) {
      const before = blocks[index]!.directives[at]!
      expect(message(() => directive.unknown(['a']))).toBe(message(() => before.unknown(['a'])))
      for (const [n, option] of directive.options.entries()) {
        expect(option.parent).toBe(directive)
        expect(message(() => option.fail('bad'))).toBe(message(() => before.options[n]!.fail('bad')))
      }
    }
})

function message(fail: () => unknown): string {
  try {
    fail()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it did not fail')
}
