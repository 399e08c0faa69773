/** Which Corefile cases say nothing about Skein yet, and why. */
import { BUILT_IN, directiveName, pluginName, SPELLINGS, STANDARD_ORDER } from '../src/chain/order.js'
import { blocksOf, type CorefileCase, directiveNames } from './corefile-cases.js'

/** The reason of cases that hold on some machines. */
export const OF_MACHINE = 'it depends on the network interfaces of the machine'

/** Reasons with the cases that have them, as `TOPIC: TITLE`. */
export const SKIPPED: Readonly<Record<string, readonly string[]>> = {
  [OF_MACHINE]: ['bind: bind takes the name of an interface'],
  'cache: prefetch is not supported yet': [
    'cache: A percentage without sign is refused',
    'cache: A percentage below 10 is refused',
    'cache: A percentage above 90 is refused',
    'cache: A duration of prefetch needs a unit',
    'cache: An empty percentage of prefetch breaks the start'
  ],
  'cache: serve_stale is not supported yet': [
    'cache: serve_stale needs no arguments',
    'cache: A negative time of serve_stale is refused',
    'cache: serve_stale_policy goes with serve_stale',
    'cache: serve_stale_policy needs serve_stale'
  ],
  'forward: upstreams over TLS and QUIC are not supported yet': [
    'forward: forward takes several upstreams, with ports and schemes',
    'forward: tls of forward with a missing file is refused',
    'forward: An upstream with scheme quic'
  ],
  'forward: upstreams by name are not supported yet': [
    'forward: An upstream that is neither address, file nor name is refused',
    'environment: A value of an opening brace is a brace to the plugin'
  ],
  'forward: some of its options are not supported yet': [
    'forward: forward takes properties with one argument',
    'forward: forward takes properties with lists',
    'forward: health_check takes options',
    'forward: A negative time of health_check is refused',
    'forward: max_fails must be a number',
    'forward: max_fails may not be negative',
    'forward: max_age may not be below expire',
    'forward: max_concurrent may not be negative',
    'forward: next needs known response codes',
    'forward: source_address must be an address'
  ],
  'loadbalance: weighted is not supported yet': [
    'loadbalance: loadbalance weighted takes a file',
    'loadbalance: A weight file that does not exist is only a warning',
    'loadbalance: A weight file that does not exist is refused when it is not read again',
    'loadbalance: loadbalance weighted needs a file',
    'loadbalance: reload of loadbalance must be a duration',
    'loadbalance: A negative reload of loadbalance breaks the start'
  ],
  'loadbalance: prefer is not supported yet': ['loadbalance: prefer without a network is accepted'],
  'prometheus: tls is not supported yet': [
    'prometheus: tls of prometheus may stand only once',
    'prometheus: A missing tls file of prometheus is only told in the log'
  ]
}

/** What CoreDNS warns of and Skein does not: it takes the needless escape away. */
export const NO_WARNING: ReadonlySet<string> = new Set(['lexing: A backslash outside quotes is an ordinary character'])

const reasons = new Map(Object.entries(SKIPPED).flatMap(([reason, cases]) => cases.map((name) => [name, reason] as const)))

/** Why a case is skipped; undefined where it runs. A directive or transport that Skein learns makes its cases run by itself. */
export function whySkipped(given: CorefileCase): string | undefined {
  const blocks = blocksOf(given)
  if (blocks.some(({ keys }) => keys.some(({ scheme }) => scheme !== 'dns'))) return 'no transport but dns:// yet'
  const missing = directiveNames(blocks).find(isMissing)
  if (missing !== undefined) return `no ${missing} yet`
  return reasons.get(`${given.topic}: ${given.title}`)
}

/** Whether it is a directive of CoreDNS that Skein does not have. */
function isMissing(directive: string): boolean {
  const plugin = pluginName(directive)
  if (BUILT_IN.includes(plugin)) return false
  return SPELLINGS.has(directive) || (STANDARD_ORDER.includes(plugin) && directiveName(plugin) === directive)
}
