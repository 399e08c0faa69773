/** The two forms of a configuration say the same: every Corefile that CoreDNS's cases hold, and any tree there is. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isBuiltIn } from '../src/chain/load.js'
import { ConfigError } from '../src/corefile/directive.js'
import { memoryOutside } from '../src/corefile/memory-outside.testing.js'
import type { Outside } from '../src/corefile/outside.js'
import { parseCorefile, type ServerBlock } from '../src/corefile/parser.js'
import { positional } from '../src/corefile/positional.js'
import { printToml } from '../src/corefile/print-toml.js'
import { treeOf } from '../src/corefile/same-tree.js'
import type { Schema } from '../src/corefile/schema.js'
import { parseToml } from '../src/corefile/toml-blocks.js'
import { converted } from '../src/process/convert.js'
import { type CorefileCase, corefileCases, outsideOf, textOf, verdictOf, verdictOfToml } from './corefile-cases.js'

const warned: string[] = []
const convert = (blocks: readonly ServerBlock[], file: string): Promise<string> =>
  converted({ blocks, file, isDefault: false, files: [], warnings: [] }, (text) => warned.push(text))

/** The blocks of a case that the parser takes, and takes with its variables kept too. */
function parsed(given: CorefileCase): readonly ServerBlock[] | undefined {
  try {
    parseCorefile(textOf(given), 'Corefile', outsideOf(given))
    return parseCorefile(textOf(given), 'Corefile', outsideOf(given), 'keep').blocks
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}

const cases = corefileCases().flatMap((given) => {
  const blocks = parsed(given)
  return blocks === undefined || blocks.length === 0 ? [] : [{ ...given, name: `${given.topic}: ${given.title}`, blocks }]
})

describe('a Corefile, as TOML and back, is the same tree', () => {
  test('of most cases', () => {
    expect(cases.length).toBeGreaterThan(400)
  })

  test.each(cases.map((given) => [given.name, given] as const))('%s', async (_name, { blocks, ...given }) => {
    const toml = await convert(blocks, 'Corefile')
    const outside: Outside = memoryOutside({}, given.env)
    const corefile = await convert(parseToml(toml, 'skein.toml', outside, 'keep').blocks, 'skein.toml')
    // Kept variables, and what they stand for.
    expect(treeOf(parseCorefile(corefile, 'Corefile', outside, 'keep').blocks)).toEqual(treeOf(blocks))
    // Built-in plugins know the names of their arguments.
    expect(warned.splice(0).filter((text) => isBuiltIn(/plugin of (\S+) is/.exec(text)![1]!))).toEqual([])
    expect(treeOf(parseCorefile(corefile, 'Corefile', outside).blocks)).toEqual(
      treeOf(parseCorefile(textOf(given), 'Corefile', outsideOf(given)).blocks)
    )
    // The variables of imported lines stand in this file now, and relative to its folder nothing is imported any more.
    expect(corefile).not.toMatch(/^\s*import /m)
  })
})

describe('the server says of the TOML what it says of the Corefile', () => {
  test.each(cases.map((given) => [given.name, given] as const))('%s', async (_name, { blocks, ...given }) => {
    const one = await verdictOf(given)
    const other = await verdictOfToml(given, await convert(blocks, 'Corefile'))
    expect(other.zones).toEqual(one.zones)
    // In a table the name of an option may be a slip for an argument that is missing, so it is told first.
    if (other.message?.includes('unknown option')) expect(one.message).toBeDefined()
    else expect(wordsOf(other.message)).toEqual(wordsOf(one.message))
  })
})

/** A message without places. */
function wordsOf(message: string | undefined): string | undefined {
  return message
    ?.replace(/\S*(?:Corefile|skein\.toml|\.conf|snippets?|\/[a-z]+):\d+/g, 'FILE')
    .replace(/\bline \d+/g, 'line N')
    .replace(/takes no options|takes no block in braces/, 'takes no block')
}

const word = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('30', '007', 'true', 'fast', '{', '}', 'import', '{$X}', "it's", 'a\\"b')
)
const name = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'args', 'keys', 'lines', 'import', 'a.b', '"', 'ttl', 'from', 'to', 'mode'),
  fc.string({ minLength: 1 })
)
const { line } = fc.letrec<{ line: Line }>((tie) => ({
  line: fc.tuple(
    name,
    fc.array(word, { maxLength: 3 }),
    fc.oneof({ depthSize: 'small' }, fc.constant(null), fc.array(tie('line'), { maxLength: 3 }))
  )
}))
const keys = fc.array(fc.constantFrom('.', 'example.org:53', '192.0.2.0/24', 'a b'), { minLength: 1, maxLength: 3 })
const trees: fc.Arbitrary<Tree> = fc.array(fc.tuple(keys, fc.array(line, { maxLength: 4 })), { minLength: 1, maxLength: 3 })

const TO = { name: 'TO', type: 'text', rest: true, optional: true } as const
/** Names for the arguments of a directive and of its options, some of which are taken. */
const SCHEMA: Schema = {
  about: '',
  args: [
    { name: 'TTL', type: 'integer', min: 0, max: 9, optional: true, when: /^\d+$/ },
    { name: 'FROM', type: 'text' },
    { name: 'MODE', type: 'text', optional: true },
    TO
  ],
  options: {
    a: { args: [{ name: 'FROM', type: 'text' }, TO, { name: 'LOOK', type: 'text', optional: true, when: /\{/ }], about: '' },
    c: { args: [TO], options: { a: { about: '' } }, about: '' },
    to: { about: '' }
  }
}
const schemas = new Map(['a', 'b', 'ttl'].map((known) => [known, SCHEMA] as const))

test.each([
  ['', new Map<string, Schema>()],
  [', with arguments by their names too', schemas]
])('any tree comes back from TOML as it was%s', (_what, known) => {
  fc.assert(
    fc.property(trees, (tree) => {
      const toml = printToml(blocksOf(tree), known)
      const { blocks } = parseToml(toml, 'skein.toml', memoryOutside({}), 'keep')
      const placed = blocks.map((block) => ({
        ...block,
        directives: block.directives.map((each) => positional(each, known.get(each.name) ?? { about: '' }))
      }))
      expect(treeOf(placed), toml).toEqual(tree)
    }),
    { numRuns: 1000 }
  )
})

test('any tree is a Corefile that says the same, or an error with a place', async () => {
  await fc.assert(
    fc.asyncProperty(trees, async (tree) => {
      const { blocks } = parseToml(printToml(blocksOf(tree)), 'skein.toml', memoryOutside({}), 'keep')
      let corefile: string
      try {
        corefile = await convert(blocks, 'skein.toml')
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError)
        expect((error as ConfigError).at).toBeDefined()
        return
      }
      expect(treeOf(parseCorefile(corefile, 'Corefile', memoryOutside({}), 'keep').blocks)).toEqual(tree)
    }),
    { numRuns: 300 }
  )
})

test('a word that may be one argument or another, by its variable, has no name', async () => {
  const { blocks } = parseCorefile(
    '. {\n  cache {$TTL} {\n    keepttl\n  }\n  cache 30 example.org {\n    keepttl\n  }\n}',
    'Corefile',
    memoryOutside({}),
    'keep'
  )
  const toml = await convert(blocks, 'Corefile')
  expect(toml).toBe(
    '[[server]]\nkeys = "."\n\n[[server.cache]]\nargs = "{$TTL}"\nkeepttl = true\n\n[[server.cache]]\nttl = 30\nzones = ["example.org"]\nkeepttl = true\n'
  )
})

test('a quoted key with variables is no list of keys, so TOML cannot have it', () => {
  expect(() => parseCorefile('"{$ZONES}" {\n}', 'Corefile', memoryOutside({}), 'keep')).toThrow(
    'Corefile:1: "{$ZONES}" is one key whatever its value, expected it without quotes'
  )
})

test('a false that no plugin explains is not lost', async () => {
  const { blocks } = parseToml('[[server]]\nkeys = "."\n[server.geo]\nexact = false', 'skein.toml')
  await expect(convert(blocks, 'skein.toml')).rejects.toThrow(
    'skein.toml:4: exact: is false, and no plugin is here that says what that means'
  )
})

test('what a Corefile cannot hold is an error with its place', async () => {
  const { blocks } = parseToml('[[server]]\nkeys = "."\nlog = true\nx = "a b\\\\"', 'skein.toml')
  await expect(convert(blocks, 'skein.toml')).rejects.toThrow('skein.toml:4: x: a Corefile cannot hold this line, expected other words')
})

type Line = [string, string[], Line[] | null]
type Tree = [string[], Line[]][]

/** Server blocks with no more than printing needs. */
function blocksOf(tree: Tree): ServerBlock[] {
  const lineOf = ([name, args, block]: Line): unknown => ({ name, args, block: block?.map(lineOf) })
  return tree.map(([keyTexts, lines]) => ({ keyTexts, directives: lines.map(lineOf), keys: [] })) as unknown as ServerBlock[]
}
