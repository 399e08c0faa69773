/** Corefiles as the bench runs them: those of the repository, with other ports and another upstream. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What of a Corefile is the bench's own. */
export interface Places {
  readonly port: number
  readonly metricsPort: number
  readonly apiPort: number
  readonly upstreamPort: number
  /** One more line of the server block. */
  readonly line?: string | undefined
}

/** A file of the folder bench/. */
export function benchFile(name: string): string {
  return fileURLToPath(new URL(`../../bench/${name}`, import.meta.url))
}

/** The text of a Corefile of bench/, or of Corefile.example. */
export function readCorefile(name: string | undefined): string {
  return readFileSync(name === undefined ? benchFile('../Corefile.example') : benchFile(name), 'utf8')
}

/** The Corefile with these places in place of its own. Throws where a line that they stand in is not there. */
export function placed(corefile: string, { port, metricsPort, apiPort, upstreamPort, line }: Places): string {
  const changes: [RegExp, string][] = [
    [/^\.:1053 \{$/m, `.:${port} {${line === undefined ? '' : `\n  ${line}`}`],
    [/^ {2}prometheus$/m, `  prometheus 127.0.0.1:${metricsPort}`],
    [/^( {2}etcd .*\{)$/m, `$1\n    api 127.0.0.1:${apiPort}`],
    [/^ {2}forward \. \S+/m, `  forward . 127.0.0.1:${upstreamPort}`]
  ]
  return changes.reduce((text, [pattern, into]) => {
    if (!pattern.test(text)) throw new Error(`the Corefile of a case has no line ${pattern}, which the bench changes`)
    return text.replace(pattern, into)
  }, corefile)
}
