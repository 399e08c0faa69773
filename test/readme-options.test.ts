/** The tables of options in the plugins' READMEs are made from their schemas. SKEIN_WRITE=1 writes them anew. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { optionTable } from '../src/corefile/option-table.js'
import type { Plugin } from '../src/plugin.js'
import { repositoryFiles, root } from './rules/source-file.js'

const BETWEEN_MARKERS = /(?<=\n## Options\n\n<!-- options -->\n\n)[\s\S]*?(?=\n\n<!-- \/options -->\n)/

const readmes = repositoryFiles().filter(({ path }) => /^plugins\/[^/]+\/README\.md$/.test(path))

test('the READMEs are found', () => {
  expect(readmes.map(({ path }) => path)).toContain('plugins/any/README.md')
})

test.each(readmes.map(({ path, text }) => [path, text] as const))('%s has the options of the schema', async (path, text) => {
  const url = pathToFileURL(join(root, 'dist', path.replace('README.md', 'index.js'))).href
  const { default: plugin } = (await import(url)) as { default: Plugin }
  const table = optionTable(plugin.schema ?? { about: '' })
  expect(text, 'its section Options begins with <!-- options -->, and <!-- /options --> ends the table').toMatch(BETWEEN_MARKERS)
  const isWritten = process.env.SKEIN_WRITE === '1'
  if (isWritten) writeFileSync(join(root, path), text.replace(BETWEEN_MARKERS, table.replaceAll('$', '$$$$')))
  else expect(BETWEEN_MARKERS.exec(text)?.[0]).toBe(table)
})
