/** `skein check`: would this configuration start, and does it say what is meant? Opens nothing: no socket, no store. */
import type { ProcessServices } from '../chain/scope.js'
import { ConfigError, placeText } from '../corefile/directive.js'
import type { Warning } from '../corefile/warnings.js'
import type { Log } from '../plugin.js'
import { systemClock } from '../process/clock.js'
import { type Configuration, readConfiguration } from '../process/configuration.js'
import { buildInstance, type Instance } from '../process/instance.js'
import { PromRegistry } from '../process/metrics.js'
import { SystemRandom } from '../process/random.js'
import { Sharing } from '../process/shares.js'
import { ProcessStores } from '../process/stores.js'
import { addressFindings, storeFindings } from './addresses.js'
import { type Finding, failure, note, shownFinding, warning } from './finding.js'
import { loopFindings } from './loops.js'
import { type Machine, thisMachine } from './machine.js'
import { orderFindings } from './orders.js'
import { reachFindings } from './reach.js'

/** What is checked, and how. */
export interface CheckOptions {
  /** As `-conf` has it. */
  readonly conf?: string | undefined
  readonly defaultPort: number
  /** Imports no plugin but Skein's own. */
  readonly builtInOnly: boolean
  readonly version: string
  readonly machine?: Machine
}

/** What came of it. */
export interface Checked {
  /** How the file was named. */
  readonly conf: string
  /** Undefined where the file cannot be read or parsed. */
  readonly configuration: Configuration | undefined
  readonly instance: Instance | undefined
  /** Errors first, notes last, each list in the order of the file, and then what has no place. */
  readonly findings: readonly Finding[]
}

/** Reads and builds a configuration, starts nothing of it, and looks for mistakes. Throws only what is a fault of Skein or a plugin. */
export async function check(options: CheckOptions): Promise<Checked> {
  const findings: Finding[] = []
  const report = (error: ConfigError): void => void findings.push(failure('configuration', error.problem, error.at))
  const configuration = readOrReport(options.conf, report)
  const conf = options.conf || 'Corefile'
  if (configuration === undefined) return { conf, configuration, instance: undefined, findings }
  findings.push(...configuration.warnings.map(fromWarning))
  const quiet = quietServices(options.version)
  const stores = new ProcessStores({ clock: systemClock, log: NO_LOG, metrics: quiet.metrics }).lease()
  const instance = await buildInstance(configuration.blocks, {
    services: { ...quiet, stores: { lease: () => stores }, log: collecting(findings) },
    file: configuration.file,
    defaultPort: options.defaultPort,
    builtInOnly: options.builtInOnly,
    report,
    warn: (text, at) => findings.push(warning('bind-overlap', text, at))
  })
  const machine = options.machine ?? thisMachine()
  findings.push(
    ...addressFindings(instance, options.defaultPort, machine),
    ...storeFindings(stores.used, instance, machine),
    ...reachFindings(instance),
    ...loopFindings(instance, machine),
    ...orderFindings(instance),
    ...madeAtStart(instance)
  )
  return { conf, configuration, instance, findings: inOrder(distinct(findings)) }
}

/** What the layers say that their start makes. */
function madeAtStart({ blocks }: Instance): Finding[] {
  return blocks.flatMap(({ chain }) =>
    chain.configured.flatMap(({ directive, layer }) =>
      (layer.reach?.makes ?? []).map((made) => note('makes', `${directive.name}: the start ${made}`, directive.at))
    )
  )
}

function readOrReport(conf: string | undefined, report: (error: ConfigError) => void): Configuration | undefined {
  try {
    return readConfiguration(conf)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    report(error)
    return undefined
  }
}

/** Parts of the process that do nothing while nothing runs. */
function quietServices(version: string): Omit<ProcessServices, 'stores' | 'log'> {
  return { clock: systemClock, random: new SystemRandom(), metrics: new PromRegistry(), shares: new Sharing(), version }
}

const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {}, line() {} }

/** What plugins tell the operator while they are set up. */
function collecting(findings: Finding[]): Log {
  const keep = (text: string): void => void findings.push(warning('plugin', text, undefined))
  return { ...NO_LOG, warn: keep, error: keep }
}

function fromWarning({ text, at }: Warning): Finding {
  return warning('read-oddly', text.slice(`${placeText(at)}: `.length), at)
}

/** What is wrong at several addresses is wrong once. */
function distinct(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [`${finding.severity} ${shownFinding(finding)}`, finding])).values()]
}

function inOrder(findings: readonly Finding[]): Finding[] {
  const rank = ({ severity }: Finding): number => ['error', 'warning', 'note'].indexOf(severity)
  const compare = ({ at: a }: Finding, { at: b }: Finding): number => {
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
    return a.file === b.file ? a.line - b.line : 0
  }
  return [...findings].sort((a, b) => rank(a) - rank(b) || compare(a, b))
}
