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
