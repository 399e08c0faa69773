/** Words of a Corefile as values: one function a type, and what it expected in words. */
import { isIP } from 'node:net'
import { type Directive, nearest, shown } from './directive.js'
import type { ValueType } from './schema.js'
import { readName, readZones, withoutBrackets } from './zone.js'

/** Reads one word; fails at `line` with what was expected, `what` in words. */
export function readValue(type: ValueType, word: string, line: Directive, what = expected(type)): unknown {
  switch (type.type) {
    case 'integer':
      if (/^-?\d{1,15}$/.test(word) && Number(word) >= type.min && Number(word) <= type.max) return Number(word)
      break
    case 'duration': {
      const ms = type.bare !== undefined && /^\d{1,12}$/.test(word) ? Number(word) * (type.bare === 's' ? 1000 : 1) : durationMs(word)
      if (ms !== undefined && ms >= (type.min ?? 0) && ms <= (type.max ?? Number.MAX_SAFE_INTEGER)) return ms
      break
    }
    case 'choice': {
      if (type.of.includes(word)) return word
      const near = nearest(word, type.of)
      return line.fail(`expected ${what}, not ${shown(word)}${near === undefined ? '' : `: did you mean ${near}?`}`)
    }
    case 'switch':
      if (word === 'on' || word === 'off') return word === 'on'
      break
    case 'name':
      return readName(word, (problem) => line.fail(`${shown(word)}: ${problem}`))
    case 'zone':
      // Most likely what should stand before it was forgotten.
      if (isIP(withoutBrackets(word)) !== 0) line.fail(`expected ${what}, not the address ${shown(word)}`)
      return readZones(word, (problem) => line.fail(`${shown(word)}: ${problem}`))
    case 'address':
      if (isIP(withoutBrackets(word)) !== 0) return withoutBrackets(word)
      break
    case 'path':
      if (word !== '') return word
      break
    case 'text':
      if (type.pattern === undefined || type.pattern.test(word)) return word
      if (type.secret === true) line.fail(`expected ${what}`)
  }
  return line.fail(`expected ${what}, not ${shown(word)}`)
}

/** What a value of this type is, for messages and tables. */
export function expected(type: ValueType): string {
  switch (type.type) {
    case 'integer':
      return `${type.expected === undefined ? '' : `${type.expected}, `}a whole number from ${type.min} to ${type.max}`
    case 'duration':
      return `a duration such as 30s or 5m${type.min === undefined ? '' : `, at least ${shownDuration(type.min)}`}${type.max === undefined ? '' : `, at most ${shownDuration(type.max)}`}`
    case 'choice':
      return type.of.length === 1 ? type.of[0]! : `one of ${type.of.join(', ')}`
    case 'switch':
      return 'on or off'
    case 'name':
      return 'a domain name such as www.example.org'
    case 'zone':
      return 'a zone such as . or example.org'
    case 'address':
      return 'an IP address'
    case 'path':
      return 'a path'
    case 'text':
      return type.expected ?? 'a text'
  }
}

const UNITS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Longer ones say nothing more, and take long to tell from what is none. */
const LONGEST_DURATION = 40

/** Go's durations in milliseconds, undefined for what is none. A 0 needs no unit. */
export function durationMs(text: string): number | undefined {
  if (text.length > LONGEST_DURATION) return undefined
  const [, sign, rest = ''] = /^([+-]?)(.*)$/s.exec(text) ?? []
  if (rest === '0') return 0
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined
  let sum = 0
  for (const [, number, unit] of rest.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) sum += Number(number) * UNITS[unit!]!
  return sign === '-' ? -sum : sum
}

/** A duration as people write it: `5m`, `1.5s`. */
export function shownDuration(ms: number): string {
  if (ms >= 3_600_000 && ms % 3_600_000 === 0) return `${ms / 3_600_000}h`
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000}m`
  return ms === 0 || ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`
}
