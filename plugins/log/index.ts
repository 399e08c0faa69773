import { canonicalName, type Directive, isPromiseLike, isWithin, type Plugin, type Query, RecordError, type Reply } from 'skein/plugin'
import { line } from './line.js'

/** Options of CoreDNS that are yet to come. */
const LATER = ['class']

/** Writes one line a query, when its reply is known. */
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
    const { clock, log } = host
    const write = (query: Query, reply: Reply | undefined, start: number): void => {
      log.line(`[INFO] ${line(query, reply, (clock.monotonic() - start) / 1000)}`)
    }
    return {
      handle(query, next) {
        // Look-ups of the server for itself belong to the query that they are made for.
        if (query.depth > 0 || (names.length > 0 && !names.some((name) => isWithin(query.qname, name)))) return next(query)
        const start = clock.monotonic()
        const told = (reply: Reply): Reply => {
          write(query, reply, start)
          return reply
        }
        const failed = (error: unknown): never => {
          write(query, undefined, start)
          throw error
        }
        let reply: ReturnType<typeof next>
        try {
          reply = next(query)
        } catch (error) {
          return failed(error)
        }
        return isPromiseLike(reply) ? reply.then(told, failed) : told(reply)
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
