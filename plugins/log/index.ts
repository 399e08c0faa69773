import { canonicalName, type Directive, isWithin, type Plugin, RecordError, type Schema } from 'skein/plugin'
import { line } from './line.js'

const schema = {
  about: 'Writes one line a query, when its reply has been sent.',
  args: [
    {
      name: 'NAMES',
      type: 'text',
      rest: true,
      optional: true,
      about: 'only queries for these names and what is below them; every name where left out'
    }
  ],
  options: { class: { status: 'later', about: 'only queries that ended so' } }
} as const satisfies Schema

/** Writes one line a query, when its reply has been sent. */
export default {
  name: 'log',
  api: 1,
  classes: ['*'],
  schema,
  setup({ directive }, host) {
    const names = readNames(directive)
    return {
      observe(query, sent) {
        // Look-ups of the server for itself belong to the query that they are made for.
        if (query.depth > 0 || (names.length > 0 && !names.some((name) => isWithin(query.qname, name)))) return
        host.log.line(`[INFO] ${line(query, sent)}`)
      }
    }
  }
} satisfies Plugin<typeof schema>

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
