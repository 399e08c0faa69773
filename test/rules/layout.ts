import { posix } from 'node:path'
import { isCode, isTest, type Rule, type SourceFile } from './source-file.js'

const mostLines = 400
const emptyNames = ['utils', 'util', 'helpers', 'helper', 'types', 'common']
const sections = ['## Syntax', '## Options', '## Examples', '## Metrics']

/** What package.json lets others import. A change here is a change of the public surface. */
export const publicSurface = {
  './plugin': { types: './dist/src/plugin.d.ts', default: './dist/src/plugin.js' },
  './testing': { types: './dist/src/testing.d.ts', default: './dist/src/testing.js' }
}

/** A file of code has at most 400 lines. */
export const filesAreSmall: Rule = (files) =>
  files
    .filter(isCode)
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > mostLines)
    .map(({ path, lines }) => `${path}: ${lines} lines, at most ${mostLines}`)

/** A file is named, in kebab-case, for what it holds; a folder too. index.ts is a plugin's door and nothing else. */
export const filesAreNamedForWhatTheyHold: Rule = (files) =>
  files.filter(isCode).flatMap(({ path }) => {
    const [name = '', ...endings] = posix.basename(path).split('.')
    const problems = []
    if (emptyNames.includes(name)) problems.push(`${path}: the name says nothing of what it holds`)
    if (name === 'index' && !/^plugins\/[^/]+\/index(\.[a-z-]+)*\.ts$/.test(path))
      problems.push(`${path}: index.ts stands in plugins/<name>/ only`)
    const parts = [...posix.dirname(path).split('/'), name, ...endings]
    if (!parts.every((part) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(part))) problems.push(`${path}: is not kebab-case`)
    return problems
  })

/** Each plugin's folder has its code, a README with the same sections everywhere, and a test. */
export const pluginsAreComplete: Rule = (files) => {
  const folders = new Set(files.flatMap(({ path }) => /^plugins\/([^/]+)\//.exec(path)?.[1] ?? []))
  return [...folders].flatMap((name) => lacks(name, files).map((what) => `plugins/${name}: lacks ${what}`))
}

function lacks(name: string, files: readonly SourceFile[]): string[] {
  const own = files.filter(({ path }) => path.startsWith(`plugins/${name}/`))
  const readme = own.find(({ path }) => path === `plugins/${name}/README.md`)
  const lines = readme?.text.split('\n').map((line) => line.trimEnd()) ?? []
  return [
    ...(own.some(({ path }) => path === `plugins/${name}/index.ts`) ? [] : ['index.ts']),
    ...(own.some(isTest) ? [] : ['a test']),
    ...(readme
      ? [`# ${name}`, ...sections].filter((heading) => !lines.includes(heading)).map((heading) => `"${heading}" in its README.md`)
      : ['README.md'])
  ]
}

/** package.json exports what the list here says. */
export const exportsAreTheList: Rule = (files) => {
  const manifest = files.find(({ path }) => path === 'package.json')
  const { exports } = JSON.parse(manifest?.text ?? '{}') as { exports?: unknown }
  return JSON.stringify(exports) === JSON.stringify(publicSurface)
    ? []
    : ['package.json: its exports are not those of test/rules/layout.ts']
}
