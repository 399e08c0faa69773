import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverOf } from '../testing.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-said-'))
const file = join(folder, 'Corefile')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A plugin that answers TXT with a word and what stands behind it in the chain. */
const text = (name: string, more = ''): string => `export default { name: '${name}', api: 1, ${more} setup: () => ({
  handle(query, next) {
    const rest = next(query)
    const behind = rest.answer.flatMap(({ rdata }) => rdata).map(String)
    return query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 0, rdata: ['${name}', ...behind] }] })
  }
}) }`

beforeAll(() => {
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'mine.js'), text('mine'))
  writeFileSync(join(folder, 'other.js'), text('other', "directives: ['this', 'that'],"))
  writeFileSync(join(folder, 'old.js'), text('old').replace('api: 1', 'api: 7'))
  writeFileSync(join(folder, 'empty.js'), 'export const x = 1')
  writeFileSync(join(folder, 'broken.js'), 'export default {')
  writeFileSync(join(folder, 'log.js'), text('log'))
  mkdirSync(join(folder, 'folder'))
  writeFileSync(join(folder, 'folder', 'index.js'), text('folder'))
  const scoped = join(folder, 'node_modules', '@corp', 'geo')
  mkdirSync(scoped, { recursive: true })
  writeFileSync(join(scoped, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(join(scoped, 'index.js'), text('geo'))
})

/** The words of the plugins that a query meets, outermost first. */
async function wordsOf(corefile: string): Promise<string> {
  const server = await serverOf(corefile, { file })
  const { answer } = await server.ask('example.org. TXT')
  await server.stop()
  return (answer[0] ?? '').replace(/^.* TXT /, '').replaceAll('"', '')
}

describe('the operator names plugins and puts them in order', () => {
  test.each<[string, string, string]>([
    ['a file', '. {\n  plugin ./mine.js\n  mine\n}', 'mine'],
    ['a scoped package', '. {\n  plugin @corp/geo\n  geo\n}', 'geo'],
    ['in another server block, and the same twice', 'a.test {\n  plugin ./mine.js\n}\n. {\n  plugin ./mine.js\n  mine\n}', 'mine'],
    ['by any of its spellings', '. {\n  plugin ./other.js\n  that\n}', 'other'],
    ['in the order of the Corefile where nobody says', '. {\n  plugin ./mine.js\n  plugin @corp/geo\n  geo\n  mine\n}', 'geo mine'],
    ['before a built-in', '. {\n  plugin ./mine.js\n  plugin @corp/geo\n  order mine before cache\n  geo\n  mine\n}', 'mine geo'],
    ['behind one', '. {\n  plugin ./mine.js\n  plugin @corp/geo\n  order geo after whoami\n  geo\n  mine\n}', 'mine geo'],
    [
      'by the directive of the built-in',
      '. {\n  plugin ./mine.js\n  plugin @corp/geo\n  order mine before etcd\n  order geo before chaos\n  mine\n  geo\n}',
      'geo mine'
    ]
  ])('%s', async (_title, corefile, words) => {
    expect(await wordsOf(corefile)).toBe(words)
  })

  test('next to a built-in one that was put elsewhere itself', async () => {
    const lines = 'order chaos before acl\n  order mine before chaos\n  order geo after chaos\n  order log before chaos'
    const corefile = `. {\n  plugin ./mine.js\n  plugin @corp/geo\n  chaos\n  geo\n  mine\n  cache\n  log\n  ${lines}\n}`
    const server = await serverOf(corefile, { file })
    expect(server.instance.blocks[0]?.chain.configured.map(({ plugin }) => plugin.name)).toEqual(['mine', 'log', 'chaos', 'geo', 'cache'])
    await server.stop()
  })

  test('a built-in plugin may be put elsewhere as well', async () => {
    expect(await wordsOf('. {\n  plugin ./mine.js\n  order whoami before dns64\n  mine\n  whoami\n}')).toBe('')
  })
})

describe('what cannot be done says what to type', () => {
  test.each<[string, RegExp]>([
    ['plugin', /Corefile:2: plugin: expected a package or a path, not nothing$/],
    ['plugin ./mine.js again', /Corefile:2: plugin: expected at most 1 argument, not "again"$/],
    ['plugin ./nothere.js', /Corefile:2: plugin: \.\/nothere\.js cannot be loaded: there is no such file$/],
    [
      'plugin @corp/nothere',
      /Corefile:2: plugin: there is no package @corp\/nothere here: npm install @corp\/nothere; a file is a path such as \.\/mine\.js$/
    ],
    ['plugin ./folder', /Corefile:2: plugin: \.\/folder is a folder, expected a file: did you mean \.\/folder\/index\.js\?$/],
    ['plugin .', /Corefile:2: plugin: \. is a folder, expected a file$/],
    ['plugin mine.js', /Corefile:2: plugin: there is no package mine\.js here: did you mean \.\/mine\.js\?$/],
    ['plugin mine', /Corefile:2: plugin: there is no package mine here: did you mean \.\/mine\.js\?$/],
    ['plugin folder', /Corefile:2: plugin: there is no package folder here: did you mean \.\/folder\/index\.js\?$/],
    ['plugin folder/index.js', /Corefile:2: plugin: there is no package folder\/index\.js here: did you mean \.\/folder\/index\.js\?$/],
    ...['corp/geo', 'https://example.org/mine.js', 'file:///mine.js', 'node:fs', 'fs', '@corp', '@corp/geo/x', '"two words"', 'a\\b'].map(
      (spec): [string, RegExp] => [
        `plugin ${spec}`,
        /Corefile:2: plugin: expected the name of a package, or a path such as \.\/mine\.js, not "[^"]+"$/
      ]
    ),
    ['plugin ""', /Corefile:2: plugin: expected a package or a path, not ""$/],
    [
      'plugin ./empty.js',
      /Corefile:2: \.\/empty\.js: it has no default export, found the named x, expected a plugin: an object with name, api and setup$/
    ],
    ['plugin ./broken.js', /Corefile:2: plugin: \.\/broken\.js cannot be loaded: /],
    ['plugin ./old.js', /Corefile:2: \.\/old\.js: it speaks plugin interface 7, this Skein speaks 1$/],
    ['plugin ./log.js', /Corefile:2: plugin: "\.\/log\.js" is configured by log, which is a directive of Skein$/],
    [
      'plugin ./mine.js\n  plugin ./mine.js\n  plugin ./other.js\n  plugin @corp/geo\n  order mine before cahce',
      /Corefile:6: order: "cahce" is no built-in plugin: did you mean cache\?$/
    ],
    ['order cache before cache', /Corefile:2: order: cache cannot stand before itself, expected another plugin$/],
    ['order etcd after etcd', /Corefile:2: order: etcd cannot stand after itself, expected another plugin$/],
    [
      'order etcd before cache\n  order cache before etcd',
      /Corefile:3: order: cannot be together with order etcd before cache in line 2, expected one of them less$/
    ],
    [
      'order log before cache\n  order cache before chaos\n  order chaos before log',
      /Corefile:4: order: cannot be together with order log before cache in line 2 and order cache before chaos in line 3, expected one/
    ],
    ['order mine next cache', /Corefile:2: order: expected one of before, after, not "next"/],
    ['order mine before cache\n  order mine after acl', /Corefile:3: order: line 2 puts mine elsewhere, expected it once$/]
  ])('%j', async (lines, message) => {
    await expect(serverOf(`. {\n  ${lines}\n}`, { file })).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: expect.stringMatching(message)
    })
  })

  test('two plugins for one directive name both lines', async () => {
    writeFileSync(join(folder, 'mine-too.js'), text('mine'))
    await expect(serverOf('. {\n  plugin ./mine.js\n  plugin ./mine-too.js\n}', { file })).rejects.toThrow(
      /Corefile:3: plugin: line 2 names another plugin for the directive mine$/
    )
  })
})
