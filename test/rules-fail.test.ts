import { describe, expect, test } from 'vitest'
import {
  coreImportsLeftwards,
  coreImportsNoPlugin,
  importsOf,
  packagesHaveOneOwner,
  pluginsImportTheInterfaceOnly
} from './rules/imports.js'
import { exportsAreTheList, filesAreNamedForWhatTheyHold, filesAreSmall, pluginsAreComplete, publicSurface } from './rules/layout.js'
import type { Rule, SourceFile } from './rules/source-file.js'
import { copyDiffers, errorsAreDocumented, exportsAreExplained, headingsAreOnce, linksLead, promisesHaveAnIssue } from './rules/text.js'

const readme = '# a\n\n## Syntax\n\n## Options\n\n## Examples\n\n## Metrics\n'
const plugin: SourceFile[] = [
  { path: 'plugins/a/index.ts', text: '' },
  { path: 'plugins/a/index.test.ts', text: '' },
  { path: 'plugins/a/README.md', text: readme }
]
const without = (ending: string) => plugin.filter(({ path }) => !path.endsWith(ending))
const promise = 'TO' + 'DO'

/** A file with a path and a text, as a rule is handed it. */
function file(path: string, text = ''): SourceFile {
  return { path, text }
}

describe('a rule sees what breaks it', () => {
  test.each<[string, Rule, SourceFile[], string[]]>([
    [
      'a link to nothing',
      linksLead,
      [file('docs/a.md', '[b](b.md) [c](../README.md#x) [d](https://example.org)'), file('README.md')],
      ['b.md']
    ],
    ['a heading twice', headingsAreOnce, [file('docs/a.md', '# A\n## B\n```sh\n# c\n# c\n```\n## C\n## B\n')], ['## B']],
    [
      'an export without a word',
      exportsAreExplained,
      [file('src/a.ts', 'import x\n\nexport const b = 1\n/** C. */\nexport type C = 1\n')],
      ['b is exported']
    ],
    [
      'a plugin that reaches into src',
      pluginsImportTheInterfaceOnly,
      [file('plugins/a/index.ts', "import { x } from '../../src/plugin.js'")],
      ['../../src/plugin.js']
    ],
    [
      'a plugin that takes a type from src',
      pluginsImportTheInterfaceOnly,
      [file('plugins/a/b.ts', "let x: import('../../src/query.js').Query")],
      ['../../src/query.js']
    ],
    [
      'a plugin that imports another',
      pluginsImportTheInterfaceOnly,
      [file('plugins/a/index.ts', "export * from '../ab/index.js'")],
      ['../ab/index.js']
    ],
    [
      'a plugin that ships what its tests need',
      pluginsImportTheInterfaceOnly,
      [file('plugins/a/index.ts', "import 'skein/testing'")],
      ['skein/testing']
    ],
    [
      'a core that imports a plugin',
      coreImportsNoPlugin,
      [file('src/chain/load.ts', "await import('../../plugins/cache/index.js')")],
      ['plugins/cache']
    ],
    [
      'a core that imports a third-party plugin',
      coreImportsNoPlugin,
      [file('src/main.ts', "import x from 'skein-plugin-x'")],
      ['skein-plugin-x']
    ],
    [
      'an import from the right',
      coreImportsLeftwards,
      [file('src/message/name.ts', "import type { Query } from '../query.js'")],
      ['../query.js']
    ],
    [
      'an import of a type from the right',
      coreImportsLeftwards,
      [file('src/query.ts', "type Store = typeof import('./store/store.js')")],
      ['./store/store.js']
    ],
    ['a file that has no place in the order', coreImportsLeftwards, [file('src/extra/x.ts')], ['no place']],
    ['a second importer of dns-packet', packagesHaveOneOwner, [file('src/message/rdata.ts', "import p from 'dns-packet'")], ['dns-packet']],
    ['a plugin that imports lmdb', packagesHaveOneOwner, [file('plugins/a/index.ts', "import { open } from 'lmdb'")], ['lmdb']],
    [
      'a layer that resolves by itself',
      packagesHaveOneOwner,
      [file('src/server.ts', "import 'reflect-metadata/lite'")],
      ['reflect-metadata']
    ],
    ['metrics outside process', packagesHaveOneOwner, [file('src/chain/a.ts', "import c from 'prom-client'")], ['prom-client']],
    ['a long file', filesAreSmall, [file('src/a.ts', 'x\n'.repeat(401))], ['401 lines']],
    ['a file named for nothing', filesAreNamedForWhatTheyHold, [file('src/message/utils.ts')], ['says nothing']],
    ['a file named types', filesAreNamedForWhatTheyHold, [file('plugins/a/types.ts')], ['says nothing']],
    ['a barrel', filesAreNamedForWhatTheyHold, [file('src/message/index.ts')], ['index.ts']],
    ['a name in camel case', filesAreNamedForWhatTheyHold, [file('src/readName.ts')], ['kebab-case']],
    ['a plugin without code', pluginsAreComplete, without('index.ts'), ['index.ts']],
    ['a plugin without a test', pluginsAreComplete, without('.test.ts'), ['a test']],
    ['a plugin without a README', pluginsAreComplete, without('.md'), ['README.md']],
    [
      'a README without a section',
      pluginsAreComplete,
      [...without('.md'), file('plugins/a/README.md', readme.replace('## Metrics', ''))],
      ['## Metrics']
    ],
    [
      'a README of another name',
      pluginsAreComplete,
      [...without('.md'), file('plugins/a/README.md', readme.replace('# a', '# b'))],
      ['# a']
    ],
    [
      'another door in package.json',
      exportsAreTheList,
      [file('package.json', '{"exports":{"./plugin":"./dist/src/plugin.js"}}')],
      ['exports']
    ],
    [
      'a code that is not explained',
      errorsAreDocumented,
      [file('src/a.ts', "readonly code = 'SKEIN_A'"), file('docs/errors.md', '')],
      ['SKEIN_A']
    ],
    ['a code that is explained and gone', errorsAreDocumented, [file('src/a.ts'), file('docs/errors.md', '## SKEIN_B')], ['SKEIN_B']],
    ['codes and no page', errorsAreDocumented, [file('src/a.ts', "override code: string = 'SKEIN_A'")], ['docs/errors.md']],
    ['a promise without an issue', promisesHaveAnIssue, [file('src/a.ts', `x\n// ${promise}: later`)], ['src/a.ts:2']]
  ])('%s', (_, rule, files, words) => {
    const offences = rule(files)
    expect(offences).toHaveLength(1)
    for (const word of words) expect(offences[0]).toContain(word)
  })

  test('a copy that differs, and a file that is no copy', () => {
    const shared = [file('README.md', 'r'), file('wire/a.json', '1'), file('wire/b.json', '2')]
    const copied = [file('README.md', 'r'), file('wire/a.json', '0'), file('wire/x.json', '9')]
    expect(copyDiffers(copied, shared)).toEqual(['wire/a.json: differs', 'wire/x.json: is not among the shared files'])
  })
})

describe('a rule lets pass what keeps it', () => {
  const kept: SourceFile[] = [
    ...without('index.test.ts'),
    file('plugins/a/index.test.ts', "import { test } from 'vitest'\nimport { chain } from 'skein/testing'\nimport p from './index.js'"),
    file('plugins/a/deep/part.ts', "import type { Plugin } from 'skein/plugin'\nimport '../part.js'\nimport 'ipaddr.js'\nimport 'node:fs'"),
    file('src/server.ts', "import './message/name.js'\nimport './chain/order.js' // from './main.js'"),
    file('src/message/codec.ts', "import dnsPacket from 'dns-packet'\nconst text = \"from './main.js'\""),
    file('src/message/name.test.ts', "import '../../test/processes.js'\nimport 'dns-packet'"),
    file('src/a-b.ts', 'x\n'.repeat(400)),
    file('src/process/failure.ts', `class F { readonly code = 'SKEIN_A' } // ${promise} #12`),
    file('docs/errors.md', '## SKEIN_A'),
    file('package.json', JSON.stringify({ exports: publicSurface }))
  ]

  test.each<[string, Rule]>([
    ['imports of plugins', pluginsImportTheInterfaceOnly],
    ['no plugin', coreImportsNoPlugin],
    ['owners', packagesHaveOneOwner],
    ['size', filesAreSmall],
    ['names', filesAreNamedForWhatTheyHold],
    ['plugins', pluginsAreComplete],
    ['exports', exportsAreTheList],
    ['errors', errorsAreDocumented],
    ['promises', promisesHaveAnIssue]
  ])('%s', (_, rule) => {
    expect(rule(kept)).toEqual([])
  })

  test('direction', () => {
    expect(coreImportsLeftwards(kept.filter(({ path }) => path !== 'src/a-b.ts'))).toEqual([])
  })
})

test('imports are found in each form, and not in comments or strings', () => {
  const text = [
    "import a, { b } from 'a'",
    "import type { C } from 'b'",
    "export { type D } from 'c'",
    "export * as e from 'd'",
    "import 'e'",
    "const f = await import('f')",
    "type G = import('g').G",
    "const { h } = require('h')",
    "// import i from 'i'",
    'const j = "import j from \'j\'"'
  ].join('\n')
  expect(importsOf(file('src/a.ts', text)).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
})
