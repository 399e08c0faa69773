import { describe, expect, test } from 'vitest'
import { matchPattern, readPattern } from './glob.js'
import { memoryOutside } from './memory-outside.testing.js'

const { readFolder } = memoryOutside(
  Object.fromEntries(
    ['a.x', 'b.x', '.c.x', 'B.x', 'ü.x', 'a+x', 'd/a.x', 'd/e/a.x', 'f/a.x', 'f/.x', 'g.x/a', '/root/a.x', 'star*', '[a]'].map((path) => [
      path,
      ''
    ])
  )
)

describe('matches', () => {
  test.each([
    ['a.x', ['a.x']],
    ['missing', ['missing']],
    ['d/../a.x', ['a.x']],
    ['*.x', ['B.x', 'a.x', 'b.x', 'g.x', 'ü.x']],
    ['?.x', ['B.x', 'a.x', 'b.x', 'g.x', 'ü.x']],
    ['.*.x', ['.c.x']],
    ['a?x', ['a+x', 'a.x']],
    ['*/a.x', ['d/a.x', 'f/a.x']],
    ['d/*', ['d/a.x', 'd/e']],
    ['f/*', ['f/a.x']],
    ['/root/*.x', ['/root/a.x']],
    ['/*/a.x', ['/root/a.x']],
    ['none/*', []],
    ['a.x/*', []],
    ['a+*', ['a+x']],
    ['star\\*', ['star*']],
    ['\\a.x', ['a.x']],
    ['st?r\\*', ['star*']],
    ['\\[a]', ['[a]']]
  ])('%s', (pattern, paths) => {
    const here = process.cwd()
    const found = matchPattern(pattern, '.', readFolder)
    // The working directory itself lies below the root.
    expect(found.filter((path) => path !== here)).toEqual(paths)
  })

  test('in the folder that it hangs on, whatever that is called', () => {
    const outside = memoryOutside({ 'a*[b/c.x': '', 'aa/c.x': '' })
    expect(matchPattern('*.x', 'a*[b', outside.readFolder)).toEqual(['a*[b/c.x'])
    expect(matchPattern('../*/c.x', 'aa', outside.readFolder)).toEqual(['a*[b/c.x', 'aa/c.x'])
  })
})

describe('allows one wildcard of a kind', () => {
  test.each([
    ['a.x', false, undefined],
    ['*?', true, undefined],
    ['\\*\\?\\[', false, undefined],
    ['a]', false, undefined],
    ['*.*', true, 'several wildcards, expected at most one * and one ?'],
    ['??', true, 'several wildcards, expected at most one * and one ?'],
    ['[ab]', true, 'a [, expected * or ? as wildcards']
  ])('%s', (text, isGlob, problem) => {
    expect(readPattern(text)).toEqual({ isGlob, problem })
  })
})
