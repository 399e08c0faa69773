import { describe, expect, test } from 'vitest'
import { type Flag, readArguments, readPort, shownFlags } from './arguments.js'

const FLAGS: readonly Flag[] = [
  { spellings: ['conf'], value: 'FILE', about: 'the Corefile' },
  { spellings: ['dns.port', 'p'], value: 'PORT', about: 'the port' },
  { spellings: ['quiet'], about: 'say nothing' }
]

describe('the command line is read as Go reads it', () => {
  test.each<[readonly string[], Record<string, string>, readonly string[]]>([
    [[], {}, []],
    [['-conf', 'x'], { conf: 'x' }, []],
    [['--conf', 'x'], { conf: 'x' }, []],
    [['-conf=x'], { conf: 'x' }, []],
    [['--conf=a=b\nc'], { conf: 'a=b\nc' }, []],
    [['-conf='], { conf: '' }, []],
    [['-conf', ''], { conf: '' }, []],
    [['-conf', '-'], { conf: '-' }, []],
    [['-conf', '-quiet'], { conf: '-quiet' }, []],
    [['-p', '1053'], { 'dns.port': '1053' }, []],
    [['-p', '1', '-dns.port=2'], { 'dns.port': '2' }, []],
    [['-quiet'], { quiet: 'true' }, []],
    [['-quiet', 'x'], { quiet: 'true' }, ['x']],
    [['-quiet=true'], { quiet: 'true' }, []],
    [['-quiet=1'], { quiet: 'true' }, []],
    [['-quiet=T'], { quiet: 'true' }, []],
    [['-quiet=false'], {}, []],
    [['-quiet=0'], {}, []],
    [['-quiet', '-quiet=false'], {}, []],
    [['-quiet=false', '-quiet'], { quiet: 'true' }, []],
    [['get', '-quiet', 'a', '-'], { quiet: 'true' }, ['get', 'a', '-']],
    [['a', '--', '-quiet', '--', 'b'], {}, ['a', '-quiet', '--', 'b']]
  ])('%j', (argv, flags, words) => {
    const read = readArguments(argv, FLAGS)
    expect([Object.fromEntries(read.flags), read.words]).toEqual([flags, words])
  })

  test.each<[readonly string[], string]>([
    [['-port', '1'], 'unknown flag -port, expected one of -conf, -dns.port, -quiet'],
    [['-x=1'], 'unknown flag -x=1, expected one of'],
    [['---quiet'], 'unknown flag ---quiet'],
    [['-=x'], 'unknown flag -=x'],
    [['-quietly'], 'unknown flag -quietly'],
    [['-constructor'], 'unknown flag -constructor'],
    [['-conf'], '-conf: expected FILE after it'],
    [['-quiet', '-p'], '-dns.port: expected PORT after it'],
    [['-quiet=yes'], '-quiet: expected no value, or true or false, not "yes"'],
    [['-quiet='], '-quiet: expected no value, or true or false, not ""']
  ])('%j is an error', (argv, message) => {
    expect(() => readArguments(argv, FLAGS)).toThrow(
      expect.objectContaining({ code: 'SKEIN_USAGE', message: expect.stringContaining(message) })
    )
  })
})

test.each(['0', '53', '65535', '00053'])('%s is a port', (text) => {
  expect(readPort(text, 'p')).toBe(Number(text))
})

test.each(['', '65536', '-1', '1.5', '1e3', '0x35', ' 53', '53\n', '１', '000000053'])('%j is no port', (text) => {
  expect(() => readPort(text, 'p')).toThrow(`-p: expected a port from 0 to 65535, not ${JSON.stringify(text)}`)
})

test('the help text lists flags in two columns', () => {
  expect(shownFlags(FLAGS)).toBe('  -conf FILE          the Corefile\n  -dns.port, -p PORT  the port\n  -quiet              say nothing')
})
