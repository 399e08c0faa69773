/** Milliseconds in each unit of Go's durations, which Corefiles are written in. */
const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 }
const PART = /(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns)/g
const WHOLE = /^(?:(?:\d+\.?\d*|\.\d+)(?:h|ms|m|s|us|µs|ns))+$/

/** The milliseconds of a duration such as `2s`, `1m30s` or `1.5s`, or undefined where it is none. */
export function durationMs(text: string): number | undefined {
  if (text.length > 40 || !WHOLE.test(text)) return undefined
  let total = 0
  for (const [, number, unit] of text.matchAll(PART)) total += Number(number) * UNITS[unit!]!
  return total
}
