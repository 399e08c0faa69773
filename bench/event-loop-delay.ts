/**
 * Loaded into the server by `node --import`: measures how late its event loop is. At SIGUSR2 it writes what it has measured since the
 * last one to the file that SKEIN_BENCH_DELAY names, and begins anew.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/** How late turns of the event loop were, in milliseconds. */
export interface Delays {
  readonly turns: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

const RESOLUTION_MS = 1

function measure(file: string): void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  // Each value is the time between two timers: what is more than their distance is delay.
  const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  histogram.enable()
  process.on('SIGUSR2', () => {
    const [p50 = 0, p99 = 0, p999 = 0] = [50, 99, 99.9].map((part) => late(histogram.percentile(part)))
    const delays: Delays = { turns: histogram.count, p50, p99, p999, max: late(histogram.max) }
    writeFileSync(`${file}.new`, JSON.stringify(delays))
    renameSync(`${file}.new`, file)
    histogram.reset()
  })
}

const file = process.env.SKEIN_BENCH_DELAY
if (file !== undefined && isMainThread) measure(file)
