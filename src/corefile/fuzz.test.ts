import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { ConfigError } from './directive.js'
import { memoryOutside } from './memory-outside.testing.js'
import { parseCorefile } from './parser.js'

const corpus = ['lexing', 'blocks', 'keys', 'import', 'environment'].flatMap(
  (file) =>
    JSON.parse(readFileSync(new URL(`../../../test/conformance/corefile/${file}.json`, import.meta.url), 'utf8')) as { corefile?: string }[]
)
const corefiles = corpus.flatMap(({ corefile }) => (corefile === undefined ? [] : [corefile]))

/** What means something somewhere in a Corefile. */
const PIECES = [
  ...'{}"\\#,:/.()$% \n\r\t\0\ufeff\u00a0\ud800ü',
  '{}',
  '{$X}',
  '{%Y%}',
  'import',
  '\nimport f\n',
  '(s)',
  'a',
  '*',
  'f',
  '.:53',
  'tls://',
  '::1',
  '/24',
  '\\"',
  '\r\n'
]

const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 3 }))

/** What imports and variables find: files and values of all kinds, some of which lead back. */
const outside = memoryOutside(
  {
    f: 'import d/*\n',
    'd/a': 'a.test {\nimport s\n}\n',
    'd/b': '(s) {\n{$X} {%Y%}\n}\nimport ../f\n',
    'conf/prod.conf': 'whoami\n',
    'common.conf': '}'
  },
  { X: 'a b {$Y}', Y: 'import', ZONE: 'example.org', ME: '{$ME}', STAGE: 'prod', FIRST: 'a,', OPEN: '{' }
)

const read = (text: string | Buffer) => parseCorefile(text, 'Corefile', outside)

function throwsOnlyConfigError(text: string | Buffer): void {
  const start = performance.now()
  try {
    read(text)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    if (!/^[\w/.]+:[1-9]\d*: /.test(error.message)) throw new Error(`an error without place: ${error.message}`, { cause: error })
  }
  if (performance.now() - start > 1000) throw new Error('took too long')
}

describe('throws nothing but ConfigError with a place', () => {
  test('for words in any order', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => throwsOnlyConfigError(pieces.join(''))),
      { numRuns: 3000 }
    )
  })

  test('for any text and any octets', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), throwsOnlyConfigError), { numRuns: 1000 })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => throwsOnlyConfigError(Buffer.from(octets))),
      { numRuns: 1000 }
    )
  })

  test('for Corefiles with pieces cut out and put in', () => {
    const edit = fc.record({ at: fc.nat(), cut: fc.nat(5), put: piece })
    fc.assert(
      fc.property(fc.constantFrom(...corefiles), fc.array(edit, { minLength: 1, maxLength: 6 }), (corefile, edits) => {
        let text = corefile
        for (const { at, cut, put } of edits) {
          const start = at % (text.length + 1)
          text = text.slice(0, start) + put + text.slice(start + cut)
        }
        throwsOnlyConfigError(text)
      }),
      { numRuns: 5000 }
    )
  })

  test('for files with pieces cut out and put in', () => {
    const edits = fc.array(fc.array(piece, { maxLength: 12 }), { minLength: 3, maxLength: 3 })
    fc.assert(
      fc.property(edits, (texts) => {
        const [a = '', b = '', c = ''] = texts.map((pieces) => pieces.join(''))
        const files = { f: a, 'd/a': b, 'd/b': c }
        try {
          parseCorefile(`import f\nimport d/*\n${a}`, 'Corefile', memoryOutside(files, { X: a, Y: b }))
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error
        }
      }),
      { numRuns: 3000 }
    )
  })

  test.each([...PIECES, 'import d/b\n', 'a\n', 'a {\n', '"a" ', 'a,', '"\n" '])('for 200 000 times %j', (text) => {
    const many = text.repeat(200_000)
    for (const corefile of [many, `. {\n${many}`, `. {\nlog ${many}`]) {
      try {
        read(corefile)
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
      }
    }
  })
})
