/** What `skein check --json` prints; docs/check.md has every field. */
import { fileURLToPath } from 'node:url'
import type { Checked } from './check.js'
import { importedPlugins, shownBlocks } from './shown.js'

/** One object on lines of its own, for programs. */
export function checkJson({ conf, configuration, instance, findings }: Checked, defaultPort: number): string {
  const starts = findings.every(({ severity }) => severity !== 'error')
  return `${JSON.stringify(
    {
      starts,
      file: configuration?.file ?? conf,
      files: configuration?.files.map(({ path }) => path) ?? [],
      blocks: instance === undefined ? [] : shownBlocks(instance, defaultPort),
      imported:
        instance === undefined ? [] : importedPlugins(instance).map(({ directive, url }) => ({ directive, path: fileURLToPath(url) })),
      findings: findings.map(({ severity, code, problem, at }) => ({ severity, code, problem, ...at }))
    },
    undefined,
    2
  )}\n`
}
