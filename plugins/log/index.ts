import {
  type Config,
  canonicalName,
  type Host,
  isWithin,
  type Layer,
  type Offer,
  type Plugin,
  RecordError,
  type Schema,
  shown
} from 'skein/plugin'
import { compileFormat } from './format.js'
import { jsonRecord } from './json.js'
import { CLASSES, picked } from './pick.js'

const schema = {
  about: 'Writes one line a query, when its reply has been sent.',
  args: [
    {
      name: 'NAMES',
      type: 'text',
      rest: true,
      optional: true,
      about: 'only queries for these names and what is below them; every name where left out'
    },
    {
      name: 'FORMAT',
      type: 'text',
      when: /\{/,
      expected: 'a format with a placeholder such as {name}',
      optional: true,
      default: '{common}',
      about: 'what a line says: text with placeholders; the last word where it has a `{`'
    }
  ],
  options: {
    class: {
      args: [{ name: 'CLASSES', type: 'choice', of: CLASSES, rest: true }],
      repeats: true,
      default: [['all']],
      about: 'only queries that ended so'
    },
    json: { about: 'lines are JSON, also where the process does not run with `-log-format=json`' },
    errors: { about: 'logs each query that ended in an error' },
    slow: { args: [{ name: 'DURATION', type: 'duration' }], about: 'logs each query that took so long or longer' },
    sample: { args: [{ name: 'N', type: 'integer', min: 1, max: 1_000_000_000 }], about: 'logs one in N queries' }
  }
} as const satisfies Schema

/** The names that the logs of a server block are for, in the order of the Corefile. */
const namesLogged: Offer<readonly string[]> = { name: 'log/names' }

/** Writes one line a query, when its reply has been sent. */
export default {
  name: 'log',
  api: 1,
  classes: ['*'],
  repeatable: true,
  schema,
  setup(config, host) {
    const { options } = config
    const { log } = host
    const names = readNames(config, host)
    const format = compileFormat(config.args[1])
    for (const word of format.unknown) log.warn(`${shown(word)} is no placeholder, and stands in lines as it is`)
    const isPicked = picked({ ...options, classes: options.class.flat() })
    const record = options.json || log.format === 'json' ? jsonRecord(format.line, host.clock) : undefined
    let earlier: readonly string[] = []
    host.offer(namesLogged, names)
    return {
      inPlace: true,
      wantsLayer: record !== undefined || config.args[1].includes('{layer}'),
      start() {
        const all = host.find(namesLogged)
        earlier = all.slice(0, all.indexOf(names)).flat()
        if (names.every((name) => earlier.some((other) => isWithin(name, other))))
          log.warn('logs nothing: a log before it in the server block is for all its names')
      },
      observe(query, sent) {
        // Look-ups of the server for itself belong to the query that they are made for.
        if (query.depth > 0 || query.within(names) === undefined) return
        // As in CoreDNS a query is logged by the first line that is for its name, or by none.
        if (earlier.length > 0 && query.within(earlier) !== undefined) return
        if (!isPicked(query, sent)) return
        log.line(record === undefined ? `[INFO] ${format.line(query, sent)}` : record(query, sent))
      }
    } satisfies Layer
  }
} satisfies Plugin<typeof schema>

/** The names whose queries are logged, the root for all. */
function readNames({ args: [words], fail }: Config<typeof schema>, host: Host): readonly string[] {
  const names = words.filter((word) => {
    // CoreDNS takes the old word for a name, and then logs nothing.
    if (word === 'stdout') host.log.warn('stdout is not taken for a name, and can go: logs never go elsewhere')
    else if (word.includes('{'))
      host.log.warn(`${shown(word)} is taken for a name, as a format is the last word: put one with spaces in quotes`)
    return word !== 'stdout'
  })
  if (names.length === 0) return ['.']
  return names.map((name) => {
    try {
      return canonicalName(name)
    } catch (error) {
      if (error instanceof RecordError) return fail(`expected a domain name, not ${shown(name)}: ${error.message}`)
      throw error
    }
  })
}
