import { type Log, type Plugin, type Query, type Schema, thrownText } from 'skein/plugin'

const schema = {
  about: 'Writes a line for each query, and each look-up made for one, that ended in an error.',
  args: [
    { name: 'stdout', type: 'choice', of: ['stdout'], optional: true, about: 'accepted for old Corefiles; errors never went elsewhere' }
  ],
  options: {
    stacktrace: { status: 'later', about: 'the stack of a fault' },
    consolidate: { status: 'later', about: 'one line for many alike' }
  }
} as const satisfies Schema

/** The bits of a header that are the rcode. */
const RCODE = 0xf

/** Writes a line for each query, and each look-up made for one, that ended in an error. */
export default {
  name: 'errors',
  api: 1,
  classes: ['*'],
  schema,
  setup(_config, host) {
    const errors = host.metrics.counter('skein_errors_total', 'Queries that ended in an error of a plugin or an upstream.')
    return {
      tellsErrors: true,
      observe(query, { reply, error, flags }) {
        const problem = error ?? (typeof reply === 'symbol' ? undefined : reply.problem)
        if (problem === undefined) return
        errors.value++
        write(host.log, query, flags & RCODE, thrownText(problem))
      }
    }
  }
} satisfies Plugin<typeof schema>

/** CoreDNS's line: the rcode as a number, the question, the error. */
function write(log: Log, query: Query, rcode: number, problem: string): void {
  log.error(`${rcode} ${query.qname} ${query.qtype}: ${problem}`)
}
