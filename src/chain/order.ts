/** The standard order, as data: the one list of plugin names in the core. */

/**
 * The plugins in the order a query meets them, whatever their order in the Corefile. The eight of SkyDNS's ServeDNS (metrics,
 * roundrobin, cache, stub, chaos, dnssec, etcd-backend, forward) stand in its order, every other where CoreDNS 1.15 has it
 * among them.
 */
// biome-ignore format: a table
export const STANDARD_ORDER: readonly string[] = [
  'root', 'metadata', 'geoip', 'cancel', 'proxyproto', 'quic', 'grpc_server', 'https', 'https3', 'timeouts', 'multisocket', 'reload', 'nsid',
  'bufsize', 'bind', 'debug', 'trace', 'ready', 'health', 'pprof', 'shed', 'metrics', 'errors', 'log', 'dnstap', 'local', 'dns64', 'any',
  'roundrobin', 'tsig', 'rewrite', 'autopath', 'acl', 'cache', 'stub', 'chaos', 'header', 'dnssec', 'tls', 'minimal', 'template', 'transfer',
  'hosts', 'route53', 'azure', 'clouddns', 'k8s_external', 'kubernetes', 'file', 'auto', 'secondary', 'etcd-backend', 'loop', 'forward',
  'grpc', 'erratic', 'whoami', 'on', 'sign', 'view', 'nomad', 'dynupdate', 'siit'
]

/** Directives that are spelled otherwise than their plugin. */
export const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['etcd', 'etcd-backend'],
  ['prometheus', 'metrics'],
  ['loadbalance', 'roundrobin']
])

/** The plugins that come with this Skein; the rest of the order is named so that an error can say "not yet". */
export const BUILT_IN: readonly string[] = [
  'any',
  'bind',
  'bufsize',
  'cache',
  'chaos',
  'errors',
  'etcd-backend',
  'forward',
  'log',
  'metrics',
  'roundrobin',
  'stub',
  'whoami'
]

/** The plugin behind a directive. */
export function pluginName(directive: string): string {
  return SPELLINGS.get(directive) ?? directive
}

/** The directive of a plugin as operators write it. */
export function directiveName(plugin: string): string {
  for (const [directive, name] of SPELLINGS) if (name === plugin) return directive
  return plugin
}
