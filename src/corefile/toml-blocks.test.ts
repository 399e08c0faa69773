import { describe, expect, test } from 'vitest'
import { ConfigError } from './directive.js'
import { memoryOutside } from './memory-outside.testing.js'
import { parseCorefile } from './parser.js'
import { treeOf } from './same-tree.js'
import { parseToml } from './toml-blocks.js'

const variables = { ZONE: 'example.org', ZONES: 'a.test,b.test,', DIR: './data' }
const outside = memoryOutside({}, variables)

/** In a server block of its own, below its keys. */
const server = (lines: string): string => `[[server]]\nkeys = "."\n${lines}\n`

function problemOf(text: string | Buffer): string {
  try {
    parseToml(text, 'skein.toml', outside)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'nothing'
}

describe('a server block', () => {
  test.each<[string, string]>([
    ['[[server]]\nkeys = ".:1053"', '.:1053 {\n}'],
    ['[server]\nkeys = ["a", "b:54"]', 'a b:54 {\n}'],
    ['[[server]]\nkeys = "a"\n[[server]]\nkeys = "b"', 'a {\n}\nb {\n}'],
    ['server = [{ keys = "a", log = true }, { keys = "b" }]', 'a {\n log\n}\nb {\n}'],
    ['[[server]]\nkeys = "192.0.2.0/23"', '192.0.2.0/23 {\n}'],
    ['[[server]]\nkeys = ["{$ZONES}", "{$ZONE}:53"]', '{$ZONES} {$ZONE}:53 {\n}']
  ])('%j', (toml, corefile) => {
    const { blocks } = parseToml(toml, 'skein.toml', outside)
    const same = parseCorefile(corefile, 'Corefile', outside).blocks
    expect(treeOf(blocks)).toEqual(treeOf(same))
    const zones = same.map(({ keys }) => keys.map(({ zone, port }) => [zone, port]))
    expect(blocks.map(({ keys }) => keys.map(({ zone, port }) => [zone, port]))).toEqual(zones)
  })
})

describe('a line', () => {
  test.each<[string, string]>([
    ['log = true', 'log'],
    ['[server.log]', 'log'],
    ['cache = 30', 'cache 30'],
    ['cache = 0x1e', 'cache 30'],
    ['cache = "30"', 'cache 30'],
    ['forward = [".", "192.0.2.1"]', 'forward . 192.0.2.1'],
    ['forward = [["a", "192.0.2.1"], ["b", "192.0.2.2"]]', 'forward a 192.0.2.1\nforward b 192.0.2.2'],
    ['log = [[], true]', 'log\nlog'],
    ['[server.forward]\nargs = [".", "192.0.2.1"]', 'forward . 192.0.2.1'],
    ['[server.forward]\nargs = [".", "192.0.2.1"]\nprefer_udp = true', 'forward . 192.0.2.1 {\n prefer_udp\n}'],
    ['forward.args = "."\nforward.ndots = 2', 'forward . {\n ndots 2\n}'],
    ['forward = { args = ".", except = [["a"], ["b", "c"]] }', 'forward . {\n except a\n except b c\n}'],
    ['[[server.forward]]\nargs = "a"\n[[server.forward]]\nargs = "b"\nndots = 2', 'forward a\nforward b {\n ndots 2\n}'],
    ['[server.a.b.c]\nd = 1', 'a {\n b {\n  c {\n   d 1\n  }\n }\n}'],
    ['lines = [["a", "x"], ["b"], ["a", 2, [["c"], ["d", []]]]]', 'a x\nb\na 2 {\n c\n d {\n }\n}'],
    ['[server.a]\nlines = []', 'a {\n}'],
    ['[server.a]\nx = 1\nlines = [["args"]]', 'a {\n x 1\n args\n}'],
    ['"a b" = "{ }"', '"a b" "{ }"'],
    ['store = "{$DIR}"\n"{$ZONE}" = "x{%NONE%}y"', 'store ./data\nexample.org xy']
  ])('%j', (toml, corefile) => {
    const { blocks } = parseToml(server(toml), 'skein.toml', outside)
    expect(treeOf(blocks)).toEqual(treeOf(parseCorefile(`. {\n${corefile}\n}`, 'Corefile', outside).blocks))
  })
})

test('every line knows its place, its zones, and its variables', () => {
  const text =
    '[[server]]\nkeys = ["a", "192.0.2.0/23"]\n  log = true\ncache.x = { y = "{$DIR}" }\n[[server.forward]]\nargs = "."\n[[server.forward]]\nargs = "b"'
  const { blocks, files, warnings } = parseToml(text, 'skein.toml', outside)
  const [log, cache, ...forwards] = blocks[0]!.directives
  expect(blocks[0]!.at).toEqual({ file: 'skein.toml', line: 1, column: 1 })
  expect(blocks[0]!.keys.map(({ at }) => [at.line, at.column])).toEqual([
    [2, 9],
    [2, 14],
    [2, 14]
  ])
  expect([log!.at.line, log!.at.column]).toEqual([3, 3])
  expect(log!.zones).toEqual(['a.', '2.0.192.in-addr.arpa.', '3.0.192.in-addr.arpa.'])
  const [y] = cache!.options[0]!.options
  expect([y!.at.line, y!.at.column, y!.spelled, y!.parent?.name, y!.parent?.parent]).toEqual([4, 13, 'y {$DIR}', 'x', cache])
  expect(forwards.map(({ at }) => at.line)).toEqual([5, 7])
  expect(files).toEqual([{ path: 'skein.toml', octets: Buffer.from(text) }])
  expect(warnings).toEqual([])
})

test('a variable that is not set is a warning, and a zone that is odd', () => {
  const { warnings } = parseToml('[[server]]\nkeys = "a_b"\nx = "{$NONE}"', 'skein.toml', outside)
  expect(warnings.map(({ text }) => text)).toEqual([
    'skein.toml:2: the zone "a_b" is not in preferred syntax: letters, digits and hyphens inside',
    'skein.toml:3: the environment variable "NONE" is not set, and is read as an empty text'
  ])
})

const VALUE = 'a value: a text in quotes, a number, true, false, a list or a table'
describe('refuses', () => {
  test.each<[string | Buffer, string]>([
    ['', '1: no server block, expected [[server]] with keys such as ".:53"'],
    ['a =', `1: the file ends here, expected ${VALUE}`],
    ['a = \nb = 1', `1: the line ends here, expected ${VALUE}`],
    ['a == 1', `1: "=" here, expected ${VALUE}`],
    ['a = yes', `1: "y" here, expected ${VALUE}`],
    ['. {\n log\n}', '1: "." here, expected KEY = VALUE, [TABLE] or [[TABLE]] on a line of its own'],
    ['server {', '1: "{" here, expected = behind a key of letters, digits, - and _; a key of other characters stands in quotes'],
    ['[server', '1: the file ends here, expected ]'],
    ['[[server]', '1: the file ends here, expected ]'],
    ['a = [1 2]', '1: "2" here, expected a comma or ]'],
    ['a = {b = 1 c = 2}', '1: "c" here, expected a comma or }'],
    ['a = 1 b = 2', '1: "b" here, expected the end of the line'],
    ['a = "x', '1: the file ends here, expected a closing quote on the same line'],
    ["a = 'x\ny'", '1: the line ends here, expected a closing quote on the same line'],
    ['a = """x', '1: the file ends here, expected three closing quotes'],
    ['a. = 1', '1: "=" here, expected a key'],
    ['a = 0x', '1: the file ends here, expected a digit'],
    ['a = "\\q"', '1: invalid escape sequence, expected TOML'],
    [
      server('log = true\nlog = true'),
      '4: "server.log" stands twice, expected it once: several lines of one name are a list of lists, or [[server.log]]'
    ],
    [server('x = 1.5'), '3: a number with a fraction, expected it as a text in quotes'],
    [server('x = [1979-05-27]'), '3: a date or time, expected it as a text in quotes'],
    [Buffer.from([0x61, 0x0a, 0x20, 0xff]), '2: an octet that is not UTF-8, expected a file in UTF-8'],
    ['[servers]', '1: "servers" outside of all server blocks, expected [[server]]: did you mean server?'],
    ['title = "x"\n[[server]]', '1: "title" outside of all server blocks, expected [[server]]'],
    ['server = 1', '1: server is a number, expected [[server]]'],
    ['server = [1]', '1: a number, expected a server block as a table'],
    ['[[server]]\nlog = true', '1: a server block without keys, expected keys = ["example.org", ".:1053"] or the like'],
    ['[[server]]\nkey = "."', '2: "key" in a server block without keys: did you mean keys?'],
    ['[[server]]\nkeys = 1053', '2: the number 1053, expected a zone such as "example.org", its port behind a colon'],
    ['[[server]]\nkeys = []', '2: keys is an empty list, expected a zone such as "example.org", or a list of them'],
    ['[[server]]\nkeys = true', '2: keys is true, expected a zone such as "example.org", or a list of them'],
    ['[[server]]\nkeys = [["a"]]', '2: "keys": a list in a list, expected a text or a number'],
    ['[[server]]\nkeys = ""', '2: an empty key, expected a zone such as "example.org"'],
    ['[[server]]\nkeys = "{$NONE}"', '2: an empty key from "{$NONE}", expected a zone such as "example.org"'],
    ['[[server]]\nkeys = "(common)"', '2: "(common)": TOML has no snippets, expected a zone'],
    ['[[server]]\nkeys = ".:99999"', '2: ".:99999": the port "99999" is too high, expected 0 to 65535'],
    [server('import = "x"'), '3: import is of Corefiles, expected the lines themselves'],
    [server('"" = "x"'), '3: an empty name, expected a directive'],
    [server('log = false'), '3: "log" is false, expected true, or the line left out'],
    [server('lines = ["token hush-hush"]'), '3: a text, expected a line as a list: its name, its words, and its block as a last list'],
    [server('x = 99999999999999999999'), '3: a number that is too large, expected it as a text in quotes'],
    [server('x = []'), '3: "x": an empty list, expected words, or true for a line without any'],
    [server('x = ["a", ["b"]]'), '3: "x": words beside lists, expected a list of words for one line, or a list of lists for several'],
    [server('x = [["a", ["b"]]]'), '3: "x": a list in a list, expected a text or a number'],
    [server('x = { args = { a = 1 } }'), '3: args is a table, expected the words of the line, or a list of them'],
    [server('lines = 1'), '3: a number, expected a line as a list: its name, its words, and its block as a last list'],
    [server('lines = [["a", true]]'), '3: true, expected a line as a list: its name, its words, and its block as a last list'],
    [server('lines = [[]]'), '3: a line without a name, expected a line as a list: its name, its words, and its block as a last list'],
    [server(`x${'.x'.repeat(20)} = 1`), '3: tables in tables, expected at most 16 levels'],
    [server(`lines = ${'[["x", '.repeat(20)}[]${']]'.repeat(20)}`), '3: blocks inside blocks, expected at most 16 levels'],
    [server(`x = ${'['.repeat(600)}${']'.repeat(600)}`), '3: maximum nesting depth of 500 exceeded, expected TOML']
  ])('%j', (text, problem) => {
    expect(problemOf(text)).toBe(`skein.toml:${problem}`)
  })
})
