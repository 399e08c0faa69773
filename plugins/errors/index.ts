import type { Log, Plugin, Query } from 'skein/plugin'

const LATER = ['stacktrace', 'consolidate']
/** The bits of a header that are the rcode. */
const RCODE = 0xf

/** Writes a line for each query, and each look-up made for one, that ended in an error. */
export default {
  name: 'errors',
  api: 1,
  classes: ['*'],
  setup(directive, host) {
    // CoreDNS accepts the old word `stdout`, the only place where errors ever went.
    if (directive.args.length > 0 && directive.args[0] !== 'stdout')
      directive.fail(`expected no argument, not ${JSON.stringify(directive.args[0])}`)
    directive.noMoreThan(1)
    for (const option of directive.options) {
      if (LATER.includes(option.name)) option.fail('is not supported yet')
      option.unknown(LATER)
    }
    const errors = host.metrics.counter('skein_errors_total', 'Queries that ended in an error of a plugin or an upstream.')
    return {
      tellsErrors: true,
      observe(query, { reply, error, flags }) {
        const problem = error === undefined ? (typeof reply === 'symbol' ? undefined : reply.problem) : textOf(error)
        if (problem === undefined) return
        errors.value++
        write(host.log, query, flags & RCODE, problem)
      }
    }
  }
} satisfies Plugin

/** CoreDNS's line: the rcode as a number, the question, the error; on one line, whatever the error says. */
function write(log: Log, query: Query, rcode: number, problem: string): void {
  log.error(`${rcode} ${query.qname} ${query.qtype}: ${problem.replace(/[\s\p{Cc}]+/gu, ' ')}`)
}

/** Telling of an error must not raise another: some objects have no text. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error)
  } catch {
    return 'something without a text'
  }
}
