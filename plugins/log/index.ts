import { canonicalName, type Directive, isWithin, type Plugin, RecordError } from 'skein/plugin'
import { line } from './line.js'

/** Options of CoreDNS that are yet to come. */
const LATER = ['class']

/** Writes one line a query, when its reply has been sent. */
export default {
  name: 'log',
  api: 1,
  classes: ['*'],
  setup(directive, host) {
    const names = readNames(directive)
    for (const option of directive.options) {
      if (LATER.includes(option.name)) option.fail('is not supported yet')
      option.unknown(LATER)
    }
    return {
      observe(query, sent) {
        // Look-ups of the server for itself belong to the query that they are made for.
        if (query.depth > 0 || (names.length > 0 && !names.some((name) => isWithin(query.qname, name)))) return
        host.log.line(`[INFO] ${line(query, sent)}`)
      }
    }
  }
} satisfies Plugin

/** The names whose queries are logged, none for all. */
function readNames(directive: Directive): string[] {
  if (directive.args.at(-1)?.includes('{')) directive.fail('a format of its own is not supported yet, expected names alone')
  // CoreDNS takes the old word `stdout` for a name, and then logs nothing.
  return directive.args
    .filter((name) => name !== 'stdout')
    .map((name) => {
      try {
        return canonicalName(name)
      } catch (error) {
        if (error instanceof RecordError) return directive.fail(`expected a domain name, not ${JSON.stringify(name)}: ${error.message}`)
        throw error
      }
    })
}
