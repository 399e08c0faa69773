/** What SkyDNS can be told: by flags, by variables of the environment, and by the object in its store. */

/** What a value is. A duration is in milliseconds; a list stands in one text, with commas. */
export type Kind = 'text' | 'switch' | 'integer' | 'duration' | 'list'

/** One setting. */
export interface Spec<K extends Kind = Kind> {
  readonly kind: K
  readonly default: ValueOf<K>
  /** Without dash. */
  readonly flag?: string
  readonly variable?: string
  /** Of the stored object; the first is SkyDNS's own spelling. */
  readonly keys?: readonly string[]
  /** Of integers and durations; a duration may be 0 too. */
  readonly least?: number
  readonly most?: number
  /** Whether 0, and whatever is below, stands for the default, as in SkyDNS. */
  readonly zeroIsDefault?: true
  /** Whether an empty text is a value, and does not stand for the default. */
  readonly takesEmpty?: true
  /** Not to be shown. */
  readonly secret?: true
  /** What the flag's value is called in the help. */
  readonly word?: string
  readonly about: string
}

/** The values of a kind. */
export type ValueOf<K extends Kind> = K extends 'text'
  ? string
  : K extends 'switch'
    ? boolean
    : K extends 'list'
      ? readonly string[]
      : number

const MAX_UINT16 = 0xffff
/** RFC 2181 §8. */
export const MAX_TTL = 0x7fffffff
/** A year, in seconds. */
const MAX_KEPT = 31_536_000
const MAX_CAPACITY = 0x7fffffff
const HOUR_MS = 3_600_000

/** All settings, in the order in which they are told. */
export const SPECS = {
  domain: {
    kind: 'text',
    default: 'skydns.local.',
    flag: 'domain',
    variable: 'SKYDNS_DOMAIN',
    keys: ['domain'],
    word: 'NAME',
    about: 'the domain that is answered from the store'
  },
  addr: {
    kind: 'text',
    default: '127.0.0.1:53',
    flag: 'addr',
    variable: 'SKYDNS_ADDR',
    keys: ['dns_addr'],
    word: 'IP:PORT',
    about: 'where it listens'
  },
  systemd: {
    kind: 'switch',
    default: false,
    flag: 'systemd',
    variable: 'SKYDNS_SYSTEMD',
    keys: ['systemd'],
    about: 'listens on the sockets that systemd has passed, whatever -addr says'
  },
  nameservers: {
    kind: 'list',
    default: [],
    flag: 'nameservers',
    variable: 'SKYDNS_NAMESERVERS',
    keys: ['nameservers'],
    word: 'IP:PORT,…',
    about: 'who is asked for names outside of the domain (those of /etc/resolv.conf)'
  },
  noRec: { kind: 'switch', default: false, flag: 'no-rec', keys: ['no_rec'], about: 'asks nobody for clients' },
  ndots: {
    kind: 'integer',
    default: 2,
    flag: 'ndots',
    variable: 'SKYDNS_NDOTS',
    keys: ['ndot', 'ndots'],
    most: 127,
    zeroIsDefault: true,
    word: 'N',
    about: 'names with fewer labels are not forwarded'
  },
  nsRotate: {
    kind: 'switch',
    default: true,
    flag: 'ns-rotate',
    keys: ['ns_rotate'],
    about: 'asks any of the name servers first, not always the same'
  },
  readTimeout: {
    kind: 'duration',
    default: 2000,
    flag: 'rtimeout',
    keys: ['read_timeout'],
    least: 1,
    most: HOUR_MS,
    zeroIsDefault: true,
    word: 'DURATION',
    about: 'how long a name server has to answer'
  },
  machines: {
    kind: 'list',
    default: ['http://127.0.0.1:2379'],
    flag: 'machines',
    variable: 'ETCD_MACHINES',
    word: 'URL,…',
    about: 'the members of the etcd cluster'
  },
  etcd3: { kind: 'switch', default: false, flag: 'etcd3', about: 'reads etcd by its API of version 3, and not 2' },
  embedded: { kind: 'text', default: '', flag: 'embedded', word: 'DIR', about: 'reads the store in that folder, and no etcd' },
  api: {
    kind: 'text',
    default: '',
    flag: 'api',
    word: 'ADDRESS',
    about: 'where that store is read and written by HTTP, as etcd’s v2 API: ADDRESS:PORT, unix:PATH or off (127.0.0.1:4001)'
  },
  pathPrefix: {
    kind: 'text',
    default: 'skydns',
    flag: 'path-prefix',
    variable: 'SKYDNS_PATH_PREFIX',
    takesEmpty: true,
    word: 'PATH',
    about: 'what all keys begin with'
  },
  caCert: {
    kind: 'text',
    default: '',
    flag: 'ca-cert',
    variable: 'ETCD_CACERT',
    word: 'FILE',
    about: 'who has signed the certificates of etcd'
  },
  tlsPem: { kind: 'text', default: '', flag: 'tls-pem', variable: 'ETCD_TLSPEM', word: 'FILE', about: 'the certificate shown to etcd' },
  tlsKey: { kind: 'text', default: '', flag: 'tls-key', variable: 'ETCD_TLSKEY', word: 'FILE', about: 'its key' },
  username: { kind: 'text', default: '', flag: 'username', variable: 'ETCD_USERNAME', word: 'NAME', about: 'the user of etcd' },
  password: {
    kind: 'text',
    default: '',
    flag: 'password',
    variable: 'ETCD_PASSWORD',
    secret: true,
    word: 'TEXT',
    about: 'the user’s password'
  },
  stubzones: { kind: 'switch', default: false, flag: 'stubzones', about: 'has stub zones: those below stub.dns of the domain' },
  hostmaster: {
    kind: 'text',
    default: '',
    flag: 'hostmaster',
    keys: ['hostmaster'],
    word: 'MAILBOX',
    about: 'the mailbox of the domain (hostmaster@ the domain)'
  },
  local: { kind: 'text', default: '', flag: 'local', keys: ['local'], word: 'NAME', about: 'what local.dns of the domain stands for' },
  ttl: { kind: 'integer', least: 0, default: 3600, keys: ['ttl'], most: MAX_TTL, zeroIsDefault: true, about: 'of services that say none' },
  minTtl: { kind: 'integer', least: 0, default: 60, keys: ['min_ttl'], most: MAX_TTL, zeroIsDefault: true, about: 'of negative answers' },
  priority: {
    kind: 'integer',
    least: 0,
    default: 10,
    keys: ['priority'],
    most: MAX_UINT16,
    zeroIsDefault: true,
    about: 'of services that say none'
  },
  roundRobin: {
    kind: 'switch',
    default: true,
    flag: 'round-robin',
    keys: ['round_robin'],
    about: 'gives addresses in another order each time'
  },
  rcache: {
    kind: 'integer',
    default: 0,
    flag: 'rcache',
    keys: ['rcache'],
    most: MAX_CAPACITY,
    word: 'N',
    about: 'how many answers are kept; 0 for none'
  },
  rcacheTtl: {
    kind: 'integer',
    default: 60,
    flag: 'rcache-ttl',
    keys: ['rcache_ttl'],
    most: MAX_KEPT,
    zeroIsDefault: true,
    word: 'SECONDS',
    about: 'for how long; and the TTL of what is looked up for an answer'
  },
  dnssec: {
    kind: 'text',
    default: '',
    flag: 'dnssec',
    keys: ['dnssec'],
    word: 'BASE',
    about: 'the key pair that signs the domain: BASE.key, BASE.private'
  },
  scache: {
    kind: 'integer',
    default: 10_000,
    flag: 'scache',
    keys: ['scache'],
    most: MAX_CAPACITY,
    word: 'N',
    about: 'how many signatures are kept'
  },
  verbose: { kind: 'switch', default: false, flag: 'verbose', about: 'writes a line for each query' },
  prometheusPort: { kind: 'text', default: '', variable: 'PROMETHEUS_PORT', about: 'where the numbers are read by HTTP; 0 for nowhere' },
  prometheusPath: { kind: 'text', default: '/metrics', variable: 'PROMETHEUS_PATH', about: 'their path' },
  prometheusNamespace: { kind: 'text', default: 'skydns', variable: 'PROMETHEUS_NAMESPACE', about: 'the first word of their names' },
  prometheusSubsystem: { kind: 'text', default: 'skydns', variable: 'PROMETHEUS_SUBSYSTEM', about: 'the second' }
} as const satisfies Readonly<Record<string, Spec>>

/** The name of a setting. */
export type SettingName = keyof typeof SPECS

/** A value and who has said it. */
export interface Given<T = unknown> {
  readonly value: T
  /** `-domain`, `SKYDNS_DOMAIN`, `/skydns/config` or `default`. */
  readonly from: string
}

/** What somebody has said of settings. */
export type Said = ReadonlyMap<SettingName, Given>

/** A setting's value, and what would have been without whoever has said it. */
export interface Settled<T = unknown> extends Given<T> {
  readonly instead?: Given | undefined
}

/** All settings with their values. */
export type Settings = { readonly [N in SettingName]: Settled<ValueOf<(typeof SPECS)[N]['kind']>> }

/** The names of all settings. */
export const NAMES = Object.keys(SPECS) as SettingName[]

/** Who was asked last wins: the stored object overrides flags and variables. */
export function settle(given: Said, stored: Said): Settings {
  const settled = NAMES.map((name): [SettingName, Settled] => {
    const [first, second] = [stored.get(name), given.get(name)].filter((each) => each !== undefined)
    if (first === undefined) return [name, { value: SPECS[name].default, from: 'default' }]
    const { kind, zeroIsDefault, takesEmpty }: Spec = SPECS[name]
    const isNothing = (first.value === '' && takesEmpty !== true) || (zeroIsDefault === true && (first.value as number) <= 0)
    const value = isNothing ? SPECS[name].default : first.value
    // SkyDNS takes a capacity below zero for none.
    return [name, { value: kind === 'integer' ? Math.max(0, value as number) : value, from: first.from, instead: second }]
  })
  return Object.fromEntries(settled) as Settings
}
