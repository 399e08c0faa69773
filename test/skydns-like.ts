/** A server in process that is set up as SkyDNS is, with all of its layers. */
import { type AskOptions, type MemoryStore, serverOf, type TestOptions, type TestServer } from 'skein/testing'
import { type CaseFile, corefileOf } from './conformance-cases.js'

/** How it is set up: SkyDNS's defaults where something is left out, in the domain `skydns.test.`. */
export interface SkyDns extends Omit<TestOptions, 'services'> {
  /** Objects by their keys; those without a slash before them are names of the domain, reversed: `web/1`. */
  readonly services?: Readonly<Record<string, unknown>> | MemoryStore
  readonly config?: CaseFile['config']
  /** Its nameservers, each `ADDRESS:PORT`; nobody where left out. */
  readonly nameservers?: readonly string[]
  /** Further lines of the server block. */
  readonly lines?: readonly string[]
  /** The lines of `etcd` that say what answers. */
  readonly store?: readonly string[]
}

const PREFIX = '/skydns/test/skydns'
/** Sets stay in their order: each record changes places with itself. */
const IN_ORDER = { below: (limit: number): number => limit - 1 }

/** Starts it. */
export function startSkyDns(settings: SkyDns): Promise<TestServer> {
  const { services = {}, config = {}, nameservers = ['none'], lines = [], store = ['store', 'api off'], ...options } = settings
  const domain = String(config.domain ?? 'skydns.test.')
  const corefile = corefileOf({ config: { ...config, domain } }, nameservers.join(' '), { port: 0, store })
  const more = ['loadbalance', `stub ${domain} {\netcd\n}`, ...lines].join('\n')
  return serverOf(corefile.replace(/^ *chaos /m, `${more}\n$&`), { random: IN_ORDER, ...options, services: keyed(services) })
}

function keyed(services: NonNullable<SkyDns['services']>): NonNullable<TestOptions['services']> {
  if (typeof (services as MemoryStore).put === 'function') return services
  return Object.fromEntries(Object.entries(services).map(([key, value]) => [key.startsWith('/') ? key : `${PREFIX}/${key}`, value]))
}

/** What a server says: the rcode and the flags, then the records; SOA without its fields, additional ones behind a `+`. */
export async function told(server: TestServer, question: string, options?: AskOptions): Promise<string[]> {
  const { rcode, flags, answer, authority, additional } = await server.ask(question, options)
  const soas = authority.map((record) => record.replace(/ SOA .*$/, ' SOA'))
  return [`${rcode} ${flags}`, ...answer, ...soas, ...additional.map((record) => `+ ${record}`)]
}
