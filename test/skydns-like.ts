/** A server in process that `skein skydns` would start, with all of SkyDNS's layers. */
import { type AskOptions, MemoryStore, serverOf, type TestOptions, type TestServer } from 'skein/testing'
import { corefileOf } from '../src/skydns/corefile.js'
import { givenBy, readFlags } from '../src/skydns/given.js'
import { settle } from '../src/skydns/settings.js'
import { readStored } from '../src/skydns/stored.js'

/** How it is set up: SkyDNS's defaults where something is left out, in the domain `skydns.test.`. */
export interface SkyDns extends Omit<TestOptions, 'services'> {
  /** Objects by their keys; those without a slash before them are names of the domain, reversed: `web/1`. Or a store. */
  readonly services?: Readonly<Record<string, unknown>> | MemoryStore
  /** Of the stored configuration. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Beside -stubzones; those that say where the store is are in place of an embedded one. */
  readonly flags?: readonly string[]
}

const PREFIX = '/skydns/test/skydns'
const EMBEDDED = ['-embedded=./data', '-api=off']
/** Sets stay in their order: each record changes places with itself. */
const IN_ORDER = { below: (limit: number): number => limit - 1 }
/** A response cache that keeps what it has for as long as TTLs say. */
export const CACHED = { rcache: 1000, rcache_ttl: 30 * 86_400 } as const

/** Starts it. */
export function startSkyDns({ services = {}, config = {}, flags = [], ...options }: SkyDns): Promise<TestServer> {
  const text = textOf(['-stubzones', ...flags], { domain: 'skydns.test.', ...config })
  return serverOf(text, { random: IN_ORDER, ...options, services: keyed(services) })
}

/** The Corefile that flags and a stored configuration stand for, on a free port of loopback; with an embedded store where no flag names an etcd. */
export function textOf(flags: readonly string[], config: Readonly<Record<string, unknown>>): string {
  const store = flags.some((flag) => flag.startsWith('-machines=')) ? [] : EMBEDDED
  const given = readFlags(['-systemd', ...store, ...flags])
  const stored = readStored(JSON.stringify(config), '/skydns/config')
  if (typeof stored === 'string') throw new Error(stored)
  const settings = settle(
    givenBy(given.flags, {}, () => {}),
    stored.said
  )
  return corefileOf(settings, { resolvConf: undefined, passed: [{ address: '127.0.0.1', port: 0 }] }).text
}

function keyed(services: NonNullable<SkyDns['services']>): NonNullable<TestOptions['services']> {
  if (services instanceof MemoryStore) return services
  return Object.fromEntries(Object.entries(services).map(([key, value]) => [key.startsWith('/') ? key : `${PREFIX}/${key}`, value]))
}

/** What a server says: the rcode and the flags, then the records; SOA without its fields, additional ones behind a `+`. */
export async function told(server: TestServer, question: string, options?: AskOptions): Promise<string[]> {
  const { rcode, flags, answer, authority, additional } = await server.ask(question, options)
  const soas = authority.map((record) => record.replace(/ SOA .*$/, ' SOA'))
  return [`${rcode} ${flags}`, ...answer, ...soas, ...additional.map((record) => `+ ${record}`)]
}
