import fc from 'fast-check'
import { describe, test } from 'vitest'
import { ConfigError } from './directive.js'
import { memoryOutside } from './memory-outside.testing.js'
import { parseToml } from './toml-blocks.js'

/** What means something somewhere in TOML, or in this file's own forms. */
const PIECES = [
  ...'{}[]"\'\\#=,.:()$% \n\r\t\0\ufeff\u00a0\ud800ü-+_09aex',
  '[[server]]\n',
  '[server]\n',
  '[server.a]\n',
  '[[server.a]]\n',
  'keys = "."\n',
  'keys',
  'args',
  'lines = [["a"]]\n',
  'a = 1\n',
  'b.c = true\n',
  '{ a = 1 }',
  '"""',
  "'''",
  '{$X}',
  '1979-05-27',
  'inf',
  '__proto__',
  'constructor = 1\n',
  '9'.repeat(400)
]

const TEXTS = [
  '[[server]]\nkeys = [".:53", "{$X}"]\nlog = true\ncache = 30\n\n[server.etcd]\nzones = ["a"]\nstore = "./data"\n',
  'server = [{ keys = "a", x = [["b"], ["c", 1]], lines = [["d", [["e"]]]] }]\n',
  '[server]\nkeys = "a"\n[[server.forward]]\nargs = [".", "192.0.2.1"]\nhealth.check.x = false\n[[server.forward]]\nto = "b"\n'
]

const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 3 }))
const outside = memoryOutside({}, { X: 'a,b {$Y}', Y: '{$X' })

function throwsOnlyConfigError(text: string | Buffer): void {
  try {
    parseToml(text, 'skein.toml', outside)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    if (!/^skein\.toml:[1-9]\d*: /.test(error.message) || /[\r\n]/.test(error.message))
      throw new Error(`no place, or several lines: ${error.message}`, { cause: error })
  }
}

describe('throws nothing but ConfigError with a place', () => {
  test('for words in any order', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => throwsOnlyConfigError(pieces.join(''))),
      { numRuns: 3000 }
    )
  })

  test('for any octets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => throwsOnlyConfigError(Buffer.from(octets))),
      { numRuns: 1000 }
    )
  })

  test('for files with pieces cut out and put in', () => {
    const edit = fc.record({ at: fc.nat(), cut: fc.nat(5), put: piece })
    fc.assert(
      fc.property(fc.constantFrom(...TEXTS), fc.array(edit, { minLength: 1, maxLength: 4 }), (original, edits) => {
        let text = original
        for (const { at, cut, put } of edits) {
          const start = at % (text.length + 1)
          text = text.slice(0, start) + put + text.slice(start + cut)
        }
        throwsOnlyConfigError(text)
      }),
      { numRuns: 5000 }
    )
  })

  test.each(['[', '{', '[[server]]\n', 'a.', 'a = 1\n', '[server.a]\n', 'keys = ".', '#', '\n'])('for many times %j', (text) => {
    for (const start of ['', '[[server]]\nkeys = "."\n', '[[server]]\nkeys = "."\na = ']) throwsOnlyConfigError(start + text.repeat(2000))
  })
})
