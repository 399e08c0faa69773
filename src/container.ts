/**
 * The composition root: what the process is made of, by token, so that each part can be replaced. One container a process, a
 * child for each server block. Only this file and `main.ts` know tsyringe; nothing is resolved while a query runs.
 */
import { createRequire } from 'node:module'
import type { DependencyContainer, InjectionToken } from 'tsyringe'
import { BlockScope, type ProcessServices, type Shares, type StorePool } from './chain/scope.js'
import type { Clock, Log, Random } from './plugin.js'
import { systemClock } from './process/clock.js'
import type { MakeScope } from './process/instance.js'
import { type LogFormat, StreamLog } from './process/log.js'
import { PromRegistry } from './process/metrics.js'
import { SystemRandom } from './process/random.js'
import { Sharing } from './process/shares.js'
import { ProcessStores } from './process/stores.js'
import { WorkerStores } from './process/worker-stores.js'

// Required and not imported: Node would read CommonJS packages once more, for the names that they export.
const require = createRequire(import.meta.url)
require('reflect-metadata')
const { instanceCachingFactory, container: root } = require('tsyringe') as typeof import('tsyringe')

/** The tokens that a test may register something else under, before anything is resolved. */
export const LOG: InjectionToken<Log> = Symbol('log')
export const CLOCK: InjectionToken<Clock> = Symbol('clock')
export const RANDOM: InjectionToken<Random> = Symbol('random')
export const METRICS: InjectionToken<PromRegistry> = Symbol('metrics')
export const STORES: InjectionToken<StorePool> = Symbol('stores')
export const SHARES: InjectionToken<Shares> = Symbol('shares')
export const VERSION: InjectionToken<string> = Symbol('version')
const SCOPE: InjectionToken<BlockScope> = Symbol('scope')

/** A container with the real parts. */
export function processContainer(
  version: string,
  format: LogFormat = 'text',
  output: NodeJS.WriteStream = process.stdout
): DependencyContainer {
  const container = root.createChildContainer()
  const debug = process.env.SKEIN_DEBUG === '1'
  container.register(LOG, { useFactory: instanceCachingFactory(() => new StreamLog(output, { debug, format })) })
  container.register(CLOCK, { useValue: systemClock })
  container.register(RANDOM, { useFactory: instanceCachingFactory(() => new SystemRandom()) })
  container.register(METRICS, { useFactory: instanceCachingFactory(() => new PromRegistry()) })
  container.register(STORES, {
    useFactory: instanceCachingFactory(
      (parts) => new ProcessStores({ clock: parts.resolve(CLOCK), log: parts.resolve(LOG), metrics: parts.resolve(METRICS) })
    )
  })
  container.register(SHARES, { useFactory: instanceCachingFactory(() => new Sharing()) })
  container.register(VERSION, { useValue: version })
  return container
}

/** The parts of a worker thread: it has no store of its own, and logs to where the process does. */
export function inWorker(version: string, format: LogFormat): { services: ProcessServices; metrics: PromRegistry; stores: WorkerStores } {
  const container = processContainer(version, format)
  const stores = new WorkerStores(container.resolve(LOG))
  container.register<StorePool>(STORES, { useValue: stores })
  return { services: { ...servicesOf(container), isWorker: true }, metrics: container.resolve(METRICS), stores }
}

/** Has the stores of a container open no keys API: for a command that runs beside what there is. */
export function withoutApis(container: DependencyContainer): DependencyContainer {
  const parts = { clock: container.resolve(CLOCK), log: container.resolve(LOG), metrics: container.resolve(METRICS) }
  const stores = new ProcessStores({ ...parts, hasApis: false })
  return container.register<StorePool>(STORES, { useValue: stores })
}

/** The parts that every server block uses. */
export function servicesOf(container: DependencyContainer): ProcessServices {
  return {
    log: container.resolve(LOG),
    clock: container.resolve(CLOCK),
    random: container.resolve(RANDOM),
    metrics: container.resolve(METRICS),
    stores: container.resolve(STORES),
    shares: container.resolve(SHARES),
    version: container.resolve(VERSION)
  }
}

/** Gives each server block a child container, which has what is the block's own beside the parts of the process. */
export function scopesOf(container: DependencyContainer): MakeScope {
  return (generation, resolve) => {
    const child = container.createChildContainer()
    child.register(SCOPE, { useFactory: (parts) => new BlockScope(servicesOf(parts), generation, resolve) })
    return child.resolve(SCOPE)
  }
}
