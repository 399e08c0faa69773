/** The options of `etcd` that say which cluster feeds the store, and how it is reached. */
import { type Config, type Directive, type EtcdSource, type EtcdTls, type Key, type MaybePromise, type Schema, shown } from 'skein/plugin'

/** The cluster, as a store takes it. */
export type Cluster = EtcdSource

const DEFAULT_ENDPOINT = 'http://localhost:2379'
const DEFAULT_PORT = '2379'
const DAY = 86_400
const MAX_TTL = 0x7fffffff
const CERTIFICATE = /-----BEGIN ([A-Z\d]+ )?CERTIFICATE-----/
const PRIVATE_KEY = /-----BEGIN ([A-Z\d]+ )?PRIVATE KEY-----/

/** What a lease may say: whole seconds, or a duration. */
const LEASE_SECONDS = { name: 'SECONDS', type: 'duration', bare: 's', min: 0, max: MAX_TTL * 1000 } as const

/** See {@link readCluster}. */
export const clusterOptions = {
  endpoint: {
    args: [{ name: 'URLS', type: 'text', rest: true, expected: 'a URL such as http://127.0.0.1:2379' }],
    about:
      'the members of the etcd cluster that feeds the store: `http://HOST:PORT` or `https://HOST:PORT`, port 2379 where left out; one after another is tried. http://localhost:2379 where neither `endpoint` nor `store` stands'
  },
  version: {
    args: [{ name: 'NUMBER', type: 'choice', of: ['2', '3'] }],
    default: '3',
    about: 'of etcd’s API: its keys are not those of the other'
  },
  credentials: {
    args: [
      { name: 'USER', type: 'text' },
      { name: 'PASSWORD', type: 'text', secret: true }
    ],
    about: 'the user of etcd that may read the keys below `path`'
  },
  tls: {
    args: [{ name: 'FILES', type: 'path', rest: true, optional: true }],
    about:
      'PEM files: `CA`, who has signed the servers’ certificates; `CERT KEY`, the client’s own; or `CERT KEY CA`. Without files, as https does by itself, the system’s authorities'
  },
  'min-lease-ttl': {
    args: [LEASE_SECONDS],
    default: 0,
    about: 'a lease never makes the TTL of an answer smaller than this'
  },
  'max-lease-ttl': {
    args: [LEASE_SECONDS],
    default: DAY * 1000,
    about: 'a lease makes the TTL of an answer this at most'
  },
  expire: {
    args: [{ name: 'DURATION', type: 'duration', min: 1000, max: 365 * DAY * 1000 }],
    default: DAY * 1000,
    about: 'how long keys with a lease stay while no member of the cluster can be reached'
  }
} as const satisfies NonNullable<Schema['options']>

interface ClusterSchema extends Schema {
  readonly options: typeof clusterOptions
}

/** The cluster that feeds the store; undefined where nothing does. Throws ConfigError. */
export async function readCluster(
  config: Pick<Config<ClusterSchema>, 'options' | 'directive' | 'line'>,
  hasStore: boolean,
  path: Key,
  readFile: (path: string) => MaybePromise<Buffer>
): Promise<Cluster | undefined> {
  const { options, directive } = config
  const { credentials, tls } = options
  const urls = options.endpoint ?? (hasStore ? undefined : [DEFAULT_ENDPOINT])
  if (urls === undefined) {
    const without = directive.options.find(({ name }) => ['version', 'credentials', 'tls', 'expire'].includes(name))
    return without?.fail('says how etcd is reached, expected `endpoint URL…` too')
  }
  const at = options.endpoint === undefined ? directive : config.line('endpoint')
  return {
    version: options.version === '2' ? 2 : 3,
    endpoints: readEndpoints(at, urls),
    path: path.map((segment) => `/${Buffer.from(segment, 'latin1').toString('utf8')}`).join(''),
    credentials: credentials && { user: credentials[0], password: credentials[1] },
    tls: tls && (await readTls(config.line('tls'), tls, readFile)),
    expireMs: options.expire
  }
}

/** What an operator may not have meant. */
export function warningsOf({ endpoints, tls, credentials }: Cluster): string[] {
  if (endpoints[0]!.startsWith('https:')) return []
  const isFar = endpoints.some((endpoint) => !/^http:\/\/(127\.\d+\.\d+\.\d+|\[::1\]|localhost):/.test(endpoint))
  return [
    ...(tls === undefined ? [] : ['tls has no effect on endpoints with http://']),
    ...(credentials === undefined || !isFar ? [] : ['the password is sent to etcd as it is, for all to read: have endpoints with https://'])
  ]
}

function readEndpoints(at: Directive, urls: readonly string[]): string[] {
  const endpoints = urls.map((url) => readEndpoint(at, url))
  const other = endpoints.find((endpoint) => endpoint.startsWith('https:') !== endpoints[0]!.startsWith('https:'))
  if (other !== undefined) at.fail(`${endpoints[0]} and ${other} differ in their scheme, expected https:// for all members or for none`)
  return [...new Set(endpoints)]
}

function readEndpoint(at: Directive, text: string): string {
  const wrong = (): never =>
    at.fail(
      `expected a URL such as http://127.0.0.1:2379, https://etcd.example:2379 or http://[::1]:2379, not ${shown(text)}${text.includes(',') ? ': several stand with spaces between them' : ''}`
    )
  // What stands before an @ is a secret.
  if (text.includes('@')) at.fail('expected a URL without user and password, and those as `credentials USER PASSWORD`')
  const url = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`
  if (!URL.canParse(url)) return wrong()
  const { protocol, hostname, port, pathname, search, hash } = new URL(url)
  if (!['http:', 'https:'].includes(protocol) || hostname === '' || pathname !== '/' || search !== '' || hash !== '') return wrong()
  // A port that is the scheme's own is left out by URL.
  const given = port !== '' ? port : (/:(\d+)\/?$/.exec(url)?.[1] ?? DEFAULT_PORT)
  return `${protocol}//${hostname}:${given}`
}

async function readTls(at: Directive, files: readonly string[], readFile: (path: string) => MaybePromise<Buffer>): Promise<EtcdTls> {
  if (files.length > 3) at.fail(`expected CA, or CERT KEY, or CERT KEY CA, not ${files.length} files`)
  const pem = async (path: string | undefined, what: string, label: RegExp): Promise<string | undefined> => {
    if (path === undefined) return undefined
    const text = (await readFile(path)).toString('utf8')
    return label.test(text) ? text : at.fail(`${shown(path)} holds no PEM text of ${what}; expected CA, or CERT KEY, or CERT KEY CA`)
  }
  const [certificate, key, authority] = files.length === 1 ? [undefined, undefined, files[0]] : files
  return {
    certificate: await pem(certificate, 'a certificate', CERTIFICATE),
    key: await pem(key, 'a private key', PRIVATE_KEY),
    authority: await pem(authority, 'the certificate of an authority', CERTIFICATE)
  }
}
