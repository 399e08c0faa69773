import { posix } from 'node:path'
import { isCode, isTest, type Rule, type SourceFile } from './source-file.js'

/** Every error code in the code is explained in docs/errors.md, and the other way round. */
export const errorsAreDocumented: Rule = (files) => {
  const shipped = files.filter((file) => isCode(file) && /^(src|plugins)\//.test(file.path) && !isTest(file))
  const used = new Map(shipped.flatMap((file) => codesIn(file).map((code) => [code, file.path] as const)))
  const page = files.find(({ path }) => path === 'docs/errors.md')
  if (page === undefined) return used.size > 0 ? ['docs/errors.md: is missing'] : []
  const explained = new Set(page.text.match(/\bSKEIN_[A-Z0-9_]+\b/g))
  return [
    ...[...used].filter(([code]) => !explained.has(code)).map(([code, path]) => `${path}: ${code} is not in docs/errors.md`),
    ...[...explained].filter((code) => !used.has(code)).map((code) => `docs/errors.md: no code says ${code}`)
  ]
}

function codesIn({ text }: SourceFile): string[] {
  return [...text.matchAll(/\bcode\b[^=\n]{0,40}=\s*['"](SKEIN_[A-Z0-9_]+)['"]/g)].map((match) => match[1] ?? '')
}

// Put together, or this file would break its own rule.
const promises = ['TO' + 'DO', 'FIX' + 'ME']

/** What is left to do has an issue, named on the same line. */
export const promisesHaveAnIssue: Rule = (files) =>
  files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, at) => {
      const word = promises.find((promise) => new RegExp(`\\b${promise}\\b`).test(line))
      return word && !/#\d+/.test(line) ? [`${path}:${at + 1}: ${word} without an issue's number`] : []
    })
  )

/** The conformance files copied here are the shared ones, octet for octet; both lists hold paths from their own folder. */
export function copyDiffers(copied: readonly SourceFile[], shared: readonly SourceFile[]): string[] {
  const originals = new Map(shared.map(({ path, text }) => [path, text]))
  return copied.flatMap(({ path, text }) => {
    if (!originals.has(path)) return [`${path}: is not among the shared files`]
    return originals.get(path) === text ? [] : [`${path}: differs`]
  })
}

/** A link to a file of the repository must lead somewhere. */
export const linksLead: Rule = (files) => {
  const paths = new Set(files.map(({ path }) => path))
  return files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].flatMap(([, to = '']) => {
        const target = posix.normalize(posix.join(posix.dirname(path), to))
        return paths.has(target) ? [] : [`${path}: links to ${to}, which is not there`]
      })
    )
}

/** A heading stands once on a page: links lead to it by its words. */
export const headingsAreOnce: Rule = (files) =>
  files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) => {
      // In blocks of code the same sign begins comments.
      const headings: readonly string[] = text.replaceAll(/^ *```.*\n[\s\S]*?^ *```/gm, '').match(/^#+ .*$/gm) ?? []
      const again = headings.filter((heading, index) => headings.indexOf(heading) !== index)
      return again.map((heading) => `${path}: has a second ${heading}`)
    })

/** What is exported is explained, in a sentence right before it: authors and colleagues read it in their editor. */
export const exportsAreExplained: Rule = (files) =>
  files
    .filter((file) => /^(src|plugins)\/.*\.ts$/.test(file.path) && !file.path.endsWith('.test.ts'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^(.*)\nexport (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm)].flatMap(
        ([, before = '', name]) =>
          before.trimEnd().endsWith('*/') || before.startsWith('// biome-ignore') || before.startsWith('export ')
            ? []
            : [`${path}: ${name} is exported and not explained`]
      )
    )
