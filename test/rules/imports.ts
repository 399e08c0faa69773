import { posix } from 'node:path'
import { init, parse } from 'es-module-lexer'
import { isCode, isTest, type Rule, type SourceFile } from './source-file.js'

await init()

/** Left never imports from its right; the parts of one step stand side by side. */
export const order = [
  ['message'],
  ['query'],
  ['corefile', 'dnssec', 'http', 'metrics', 'reply', 'store', 'upstream'],
  ['plugin', 'offers'],
  ['chain'],
  ['route'],
  ['listen'],
  ['server'],
  ['process'],
  ['testing', 'check', 'skydns'],
  ['main', 'serve', 'container', 'worker', 'feeder']
]

/** Packages that one place alone may import, so that the rest does not depend on their ways. */
export const owners: readonly { packages: readonly string[]; place: RegExp }[] = [
  { packages: ['toml'], place: /^src\/corefile\/toml\.ts$/ },
  { packages: ['dns-packet'], place: /^src\/message\/codec\.ts$/ },
  { packages: ['tsyringe', 'reflect-metadata'], place: /^src\/(main|container)\.ts$/ },
  { packages: ['koffi'], place: /^src\/listen\/batch\/libc\.ts$/ },
  { packages: ['lmdb'], place: /^src\/store\// },
  { packages: ['etcd3'], place: /^src\/store\/etcd\/v3\.ts$/ },
  { packages: ['prom-client'], place: /^src\/process\// }
]

/** What a file imports, exports from, or names in a type; those of types only count too. */
export function importsOf({ path, text }: SourceFile): string[] {
  const found = parse(text, path)[0].flatMap((each) => ('specifier' in each && typeof each.specifier === 'string' ? [each.specifier] : []))
  // The lexer does not look into types, where `import('…').Name` stands too, and knows no `require`.
  const elsewhere = [...text.matchAll(/\b(?:import|require)\(\s*(['"])(.+?)\1\s*\)/g)].map((match) => match[2] ?? '')
  return [...new Set([...found, ...elsewhere])]
}

/** A plugin sees the public interface, packages, and its own folder: never src, never another plugin. */
export const pluginsImportTheInterfaceOnly: Rule = (files) => {
  const plugins = files.filter((file) => isCode(file) && file.path.startsWith('plugins/'))
  return offences(plugins, (file, specifier) => {
    const folder = file.path.split('/').slice(0, 2).join('/')
    if (specifier.startsWith('.')) return !resolve(file, specifier).startsWith(`${folder}/`)
    if (['vitest', 'fast-check'].includes(specifier)) return !isTest(file)
    if (specifier === 'skein/testing') return !isTest(file) && !file.path.endsWith('.testing.ts')
    return /^(skein(\/|$)|\/|file:|#)/.test(specifier) && specifier !== 'skein/plugin'
  })
}

/** The core names no plugin: they are loaded by name. */
export const coreImportsNoPlugin: Rule = (files) => {
  const core = files.filter((file) => isCode(file) && file.path.startsWith('src/'))
  return offences(
    core,
    (file, specifier) => /^(skein-plugin-|plugins\/)/.test(specifier) || resolve(file, specifier).startsWith('plugins/')
  )
}

/** Inside src, data and imports flow one way. Tests may look at whatever they compare with. */
export const coreImportsLeftwards: Rule = (files) => {
  const core = files.filter((file) => file.path.startsWith('src/') && file.path.endsWith('.ts') && !isTest(file))
  const homeless = core.filter(({ path }) => rank(path) < 0).map(({ path }) => `${path}: has no place in the order of src`)
  const wrong = offences(core, (file, specifier) => {
    if (!specifier.startsWith('.')) return specifier.startsWith('skein')
    const target = resolve(file, specifier)
    return !target.startsWith('src/') || rank(target) > rank(file.path)
  })
  return [...homeless, ...wrong]
}

/** Some packages are imported in one place alone; tests and what measures may compare with them. */
export const packagesHaveOneOwner: Rule = (files) => {
  const shipped = files.filter((file) => isCode(file) && /^(src|plugins)\//.test(file.path) && !isTest(file))
  return offences(shipped, (file, specifier) =>
    owners.some(({ packages, place }) => packages.some((name) => isFrom(specifier, name)) && !place.test(file.path))
  )
}

function offences(files: readonly SourceFile[], isWrong: (file: SourceFile, specifier: string) => boolean): string[] {
  return files.flatMap((file) => {
    const wrong = importsOf(file).filter((specifier) => isWrong(file, specifier))
    return wrong.map((specifier) => `${file.path}: must not import ${specifier}`)
  })
}

function resolve({ path }: SourceFile, specifier: string): string {
  return specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier
}

function isFrom(specifier: string, name: string): boolean {
  return specifier === name || specifier.startsWith(`${name}/`)
}

function rank(path: string): number {
  const part = (path.split('/')[1] ?? '').replace(/\.[jt]s$/, '')
  return order.findIndex((step) => step.includes(part))
}
