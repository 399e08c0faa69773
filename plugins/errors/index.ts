import { type Config, type Host, type Plugin, type Query, type Schema, shown, stackLines, thrownText } from 'skein/plugin'
import { Consolidation, LEVELS, write } from './consolidation.js'
import { Expression } from './expression.js'

const schema = {
  about: 'Writes a line for each query, and each look-up made for one, that ended in an error.',
  args: [
    { name: 'stdout', type: 'choice', of: ['stdout'], optional: true, about: 'accepted for old Corefiles; errors never went elsewhere' }
  ],
  options: {
    consolidate: {
      args: [
        { name: 'DURATION', type: 'duration', min: 1 },
        { name: 'REGEXP', type: 'text', expected: 'a regular expression' },
        { name: 'LEVEL', type: 'choice', of: LEVELS, optional: true, when: /^(?!show_first$)/, default: 'error' },
        { name: 'show_first', type: 'choice', of: ['show_first'], optional: true }
      ],
      repeats: true,
      about: 'one line for all errors of that time whose text matches; LEVEL is `error` where left out'
    },
    stacktrace: { about: 'the stack of whatever a plugin throws, below its line' }
  }
} as const satisfies Schema

/** The bits of a header that are the rcode. */
const RCODE = 0xf
/** Longer texts are matched by their beginning alone, so that what an upstream or a plugin says cannot keep the server busy. */
const MOST_MATCHED = 1000

/** Writes a line for each query, and each look-up made for one, that ended in an error. */
export default {
  name: 'errors',
  api: 1,
  classes: ['*'],
  schema,
  setup(config, host) {
    const errors = host.metrics.counter('skein_errors_total', 'Queries that ended in an error of a plugin or an upstream.')
    const consolidations = consolidationsOf(config, host)
    const stackLevel = config.options.stacktrace ? 'error' : 'debug'
    let isStopped = false
    return {
      inPlace: true,
      tellsErrors: true,
      observe(query, { reply, error, flags }) {
        const problem = error ?? (typeof reply === 'symbol' ? undefined : reply.problem)
        if (problem === undefined) return
        errors.value++
        const text = thrownText(problem)
        const matched = text.slice(0, MOST_MATCHED)
        // Nobody would tell of what is counted after the stop.
        const like = isStopped ? undefined : consolidations.find(({ rule }) => rule.expression.matches(matched))
        if (like?.count() === false) return
        write(host.log, like?.rule.level ?? 'error', lineOf(query, flags & RCODE, text))
        for (const line of stackLines(error)) write(host.log, stackLevel, line)
      },
      stop() {
        isStopped = true
        for (const consolidation of consolidations) consolidation.tell()
      }
    }
  }
} satisfies Plugin<typeof schema>

function consolidationsOf({ options, directive }: Config<typeof schema>, host: Host): Consolidation[] {
  const lines = directive.options.filter(({ name }) => name === 'consolidate')
  return options.consolidate.map(([milliseconds, pattern, level, first], index) => {
    try {
      const rule = { milliseconds, pattern, level, showsFirst: first !== undefined, expression: new Expression(pattern) }
      return new Consolidation(rule, host.log, host.clock)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      return lines[index]!.fail(`expected a regular expression of Go (RE2), not ${shown(pattern)}: ${error.message}`)
    }
  })
}

/** CoreDNS's line: the rcode as a number, the question, the error. */
function lineOf(query: Query, rcode: number, problem: string): string {
  return `${rcode} ${query.qname} ${query.qtype}: ${problem}`
}
