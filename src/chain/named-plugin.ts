/** `plugin SPEC`: a plugin in a file, or in a package of any name. */
import { existsSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, type Directive, shown } from '../corefile/directive.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import { checkPlugin } from './check-plugin.js'
import { importPlugin, type Loaded, packageUrl } from './load.js'

/** What the line takes. */
export const PLUGIN = {
  about: 'Names a plugin that is no `skein-plugin-NAME`: a package, or a file.',
  args: [
    {
      name: 'SPEC',
      type: 'text',
      pattern: /./s,
      expected: 'a package or a path',
      about: 'the name of a package such as `@corp/geo`, or a path such as `./mine.js`'
    }
  ]
} as const satisfies Schema

/** What npm lets a package be called. */
const PACKAGE_NAME = /^(?:@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*$/

/** Imports the plugin that a line names. Throws ConfigError. */
export async function namedPlugin(directive: Directive, folder: string): Promise<{ spec: string; loaded: Loaded }> {
  const [spec] = readBySchema(directive, PLUGIN).args
  const url = /^(?:\.{0,2}\/|\.{1,2}$)/.test(spec) ? fileUrl(spec, folder, directive) : urlOfPackage(spec, folder, directive)
  const module = await importPlugin(url, spec, directive)
  return { spec, loaded: { plugin: checkPlugin(module, spec, directive.at), url, directive } }
}

function fileUrl(spec: string, folder: string, directive: Directive): string {
  const path = resolve(folder, spec)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) throw new ConfigError(`plugin: ${spec} cannot be loaded: there is no such file`, directive.at)
  if (stat.isDirectory()) {
    const index = join(path, 'index.js')
    const hint = existsSync(index) ? `: did you mean ${shownPath(index, folder)}?` : ''
    throw new ConfigError(`plugin: ${spec} is a folder, expected a file${hint}`, directive.at)
  }
  return pathToFileURL(path).href
}

function urlOfPackage(spec: string, folder: string, directive: Directive): string {
  const isName = PACKAGE_NAME.test(spec) && !isBuiltin(spec)
  const url = isName ? packageUrl(spec, folder, directive) : undefined
  if (url !== undefined) return url
  const beside = ['', '.js', '.mjs', '/index.js'].map((end) => resolve(folder, spec + end)).find(isFile)
  if (beside !== undefined) directive.fail(`there is no package ${spec} here: did you mean ${shownPath(beside, folder)}?`)
  if (!isName) directive.fail(`expected the name of a package, or a path such as ./mine.js, not ${shown(spec)}`)
  return directive.fail(`there is no package ${spec} here: npm install ${spec}; a file is a path such as ./mine.js`)
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function shownPath(path: string, folder: string): string {
  const inside = relative(folder, path)
  return inside.startsWith('..') ? path : `./${inside}`
}
