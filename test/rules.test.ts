import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { coreImportsLeftwards, coreImportsNoPlugin, packagesHaveOneOwner, pluginsImportTheInterfaceOnly } from './rules/imports.js'
import { exportsAreTheList, filesAreNamedForWhatTheyHold, filesAreSmall, pluginsAreComplete } from './rules/layout.js'
import { type Rule, readFolder, repositoryFiles, root } from './rules/source-file.js'
import { copyDiffers, errorsAreDocumented, exportsAreExplained, headingsAreOnce, linksLead, promisesHaveAnIssue } from './rules/text.js'

const files = repositoryFiles()
const shared = process.env.SKEIN_SHARED ?? join(root, '../shared')

describe('the repository keeps its rules', () => {
  test.each<[string, Rule]>([
    ['a plugin imports the public interface, packages and its own folder', pluginsImportTheInterfaceOnly],
    ['the core imports no plugin', coreImportsNoPlugin],
    ['inside src, left never imports from its right', coreImportsLeftwards],
    ['some packages are imported in one place alone', packagesHaveOneOwner],
    ['no file of code is longer than 400 lines', filesAreSmall],
    ['files are named for what they hold', filesAreNamedForWhatTheyHold],
    ['each plugin has its code, its README and a test', pluginsAreComplete],
    ['the exports are the list', exportsAreTheList],
    ['each error code is explained, and each explained one is used', errorsAreDocumented],
    ['what is left to do has an issue', promisesHaveAnIssue],
    ['a link leads somewhere', linksLead],
    ['a heading stands once on a page', headingsAreOnce],
    ['what is exported is explained', exportsAreExplained]
  ])('%s', (_, rule) => {
    expect(rule(files)).toEqual([])
  })

  test.skipIf(!existsSync(join(shared, 'conformance')))('the conformance files are the shared ones', () => {
    expect(
      copyDiffers(
        readFolder('test/conformance').map(inside('test/conformance/')),
        readFolder('conformance', shared).map(inside('conformance/'))
      )
    ).toEqual([])
  })
})

function inside(folder: string) {
  return ({ path, text }: { path: string; text: string }) => ({ path: path.slice(folder.length), text })
}
