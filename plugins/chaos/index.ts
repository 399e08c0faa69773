import { hostname } from 'node:os'
import { type Plugin, type Query, type Reply, type Schema, shuffle, zonesServed } from 'skein/plugin'

/** SkyDNS's four. */
const AUTHORS = ['Erik St. Martin', 'Brian Ketelsen', 'Miek Gieben', 'Michael Crosby']
const MAX_STRING = 255

const schema = {
  about: 'Answers the questions of class CH that ask a server who it is (RFC 4892).',
  args: [
    { name: 'VERSION', type: 'text', optional: true, about: 'what version.bind says; the name and version of Skein where left out' },
    { name: 'AUTHORS', type: 'text', rest: true, optional: true, about: 'what authors.bind says, each once; SkyDNS’s four where left out' }
  ],
  options: {
    hostname: {
      args: [{ name: 'NAME', type: 'text', expected: 'a name, or `auto` for that of the machine' }],
      default: 'localhost',
      about: 'what hostname.bind says, as SkyDNS; `auto` is the name of the machine, as CoreDNS'
    }
  }
} as const satisfies Schema

/** Answers the questions of class CH that ask a server who it is (RFC 4892). */
export default {
  name: 'chaos',
  api: 1,
  classes: ['CH'],
  schema,
  setup({ args: [given, named], options }, host) {
    const version = given ?? host.version
    const authors = named.length === 0 ? AUTHORS : [...new Set(named)]
    const name = options.hostname === 'auto' ? hostname() : options.hostname
    /** Whether this name asks for the authors: `authors.bind`, and the apex of each zone served here. */
    const asksAuthors = ({ qname }: Query): boolean =>
      qname === 'authors.bind.' || host.find(zonesServed).some((zones) => zones.includes(qname))
    return {
      inPlace: true,
      handle(query, next) {
        if (query.qtype !== 'TXT') return next(query)
        if (asksAuthors(query)) return texts(query, shuffle([...authors], host.random))
        if (query.qname === 'version.bind.' || query.qname === 'version.server.') return texts(query, [version])
        if (query.qname === 'hostname.bind.' || query.qname === 'id.server.') return texts(query, [name])
        return next(query)
      }
    }
  }
} satisfies Plugin<typeof schema>

function texts(query: Query, values: readonly string[]): Reply {
  const answer = values.map(
    (text) => ({ owner: query.qname, type: 'TXT', ttl: 0, rdata: [Buffer.from(text).subarray(0, MAX_STRING)] }) as const
  )
  return query.reply({ aa: true, ra: true, answer, why: 'chaos' })
}
