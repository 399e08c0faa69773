/** The standard order, as data: the one list of plugin names in the core. */

/**
 * The plugins in the order a query meets them, whatever their order in the Corefile. The eight of SkyDNS's ServeDNS (metrics,
 * roundrobin, cache, stub, chaos, dnssec, etcd-backend, forward) stand in its order, every other where CoreDNS 1.15 has it
 * among them.
 */
// biome-ignore format: a table
export const STANDARD_ORDER: readonly string[] = [
  'root', 'metadata', 'geoip', 'cancel', 'proxyproto', 'quic', 'grpc_server', 'https', 'https3', 'timeouts', 'multisocket', 'reload', 'admin', 'nsid',
  'bufsize', 'bind', 'debug', 'trace', 'ready', 'health', 'pprof', 'shed', 'metrics', 'errors', 'log', 'dnstap', 'local', 'dns64', 'any',
  'roundrobin', 'tsig', 'rewrite', 'autopath', 'acl', 'cache', 'stub', 'chaos', 'header', 'dnssec', 'tls', 'minimal', 'template', 'transfer',
  'hosts', 'route53', 'azure', 'clouddns', 'k8s_external', 'kubernetes', 'file', 'auto', 'secondary', 'etcd-backend', 'loop', 'forward',
  'grpc', 'erratic', 'whoami', 'on', 'sign', 'view', 'nomad', 'dynupdate', 'siit'
]

/** Pairs of which the first must come first, and what goes wrong where an operator turns them round. */
export const UNSAFE_ORDERS: readonly (readonly [first: string, second: string, why: string])[] = [
  ['root', 'etcd-backend', "what etcd names hangs on the Corefile's folder"],
  ['root', 'stub', "what stub names hangs on the Corefile's folder"],
  ['root', 'forward', "what forward names hangs on the Corefile's folder"],
  ['acl', 'cache', 'what the cache has is told to those whom acl refuses'],
  ['roundrobin', 'cache', 'what the cache has always comes in the same order'],
  ['cache', 'stub', 'what stub answers is never cached'],
  ['cache', 'etcd-backend', 'what etcd answers is never cached'],
  ['cache', 'forward', 'what forward answers is never cached'],
  ['cache', 'dnssec', 'every answer is signed anew'],
  ['dnssec', 'etcd-backend', 'what etcd answers is never signed'],
  ['dnssec', 'forward', 'what forward answers is never signed'],
  ['stub', 'etcd-backend', 'stub zones within the domain are never asked'],
  ['etcd-backend', 'forward', 'names of the services are asked of the upstreams']
]

/** Directives that are spelled otherwise than their plugin. */
export const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['etcd', 'etcd-backend'],
  ['prometheus', 'metrics'],
  ['loadbalance', 'roundrobin']
])

/** The plugins that come with this Skein; the rest of the order is named so that an error can say "not yet". */
export const BUILT_IN: readonly string[] = [
  'admin',
  'any',
  'bind',
  'bufsize',
  'cache',
  'chaos',
  'debug',
  'dnssec',
  'errors',
  'etcd-backend',
  'forward',
  'health',
  'log',
  'metrics',
  'multisocket',
  'ready',
  'reload',
  'root',
  'roundrobin',
  'stub',
  'whoami'
]

/** The directives of the chain itself, behind which no plugin is. */
export const CHAIN_DIRECTIVES: readonly string[] = ['order', 'plugin']

/** The plugin behind a directive. */
export function pluginName(directive: string): string {
  return SPELLINGS.get(directive) ?? directive
}

/** The directive of a plugin as operators write it. */
export function directiveName(plugin: string): string {
  for (const [directive, name] of SPELLINGS) if (name === plugin) return directive
  return plugin
}
