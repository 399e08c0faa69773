import { isPromiseLike, type Log, type Plugin, type Query, type Reply } from 'skein/plugin'

const LATER = ['stacktrace', 'consolidate']
const SERVFAIL = 2
/** The bits of a header that are the rcode. */
const RCODE = 0xf

/** Makes of whatever a layer after it throws a SERVFAIL, and writes a line for each failure. */
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
    const look = (query: Query, reply: Reply): Reply => {
      // What a plugin forgot to return is told of at the start of the chain.
      if (typeof reply !== 'object' || reply?.problem === undefined) return reply
      errors.value++
      write(host.log, query, reply.flags & RCODE, reply.problem)
      return reply
    }
    const thrown = (query: Query, error: unknown): Reply => {
      errors.value++
      write(host.log, query, SERVFAIL, textOf(error))
      return query.fail('SERVFAIL', 'fault')
    }
    return {
      handle(query, next) {
        try {
          const reply = next(query)
          if (!isPromiseLike(reply)) return look(query, reply)
          return reply.then(
            (late) => look(query, late),
            (error: unknown) => thrown(query, error)
          )
        } catch (error) {
          return thrown(query, error)
        }
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
