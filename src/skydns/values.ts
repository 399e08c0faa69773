/** SkyDNS's values as texts, which Go reads, and as JSON. */

import { shown } from '../corefile/directive.js'
import { durationMs, shownDuration } from '../corefile/value.js'
import type { Spec } from './settings.js'

/** A value that was read, or what is wrong with it, in words. */
export type Read = { readonly value: unknown } | { readonly problem: string }

const YES = /^(?:1|t|T|true|True|TRUE)$/
const NO = /^(?:0|f|F|false|False|FALSE)$/
/** Go's whole numbers: with a sign, decimal or by the letter behind a zero. */
const WHOLE = /^([+-]?)(0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9]\d*|0)$/
const NANOSECONDS = 1e6

/** Reads a text of the command line or of the environment. */
export function readText(spec: Spec, text: string): Read {
  switch (spec.kind) {
    case 'text':
      return { value: text }
    case 'list':
      return {
        value: text
          .split(',')
          .map((item) => item.trim())
          .filter((item) => item !== '')
      }
    case 'switch':
      return YES.test(text) ? { value: true } : NO.test(text) ? { value: false } : { problem: `expected true or false, not ${shown(text)}` }
    case 'integer':
      return inRange(spec, wholeOf(text), shown(text))
    case 'duration':
      return inRange(spec, durationMs(text), shown(text))
  }
}

/** Reads a value of the stored object. */
export function readJson(spec: Spec, value: unknown): Read {
  switch (spec.kind) {
    case 'text':
      return typeof value === 'string' ? { value } : { problem: `expected a text, not ${json(value)}` }
    case 'list':
      // Go takes null for a list that is empty.
      if (value === null) return { value: [] }
      return Array.isArray(value) && value.every((item) => typeof item === 'string')
        ? { value: (value as string[]).map((item) => item.trim()).filter((item) => item !== '') }
        : { problem: `expected a list of texts, not ${json(value)}` }
    case 'switch':
      return typeof value === 'boolean' ? { value } : { problem: `expected true or false, not ${json(value)}` }
    case 'integer':
      return inRange(spec, Number.isInteger(value) ? (value as number) : undefined, json(value))
    case 'duration': {
      const ms = typeof value === 'string' ? durationMs(value) : Number.isInteger(value) ? (value as number) / NANOSECONDS : undefined
      return inRange(spec, ms, json(value))
    }
  }
}

function wholeOf(text: string): number | undefined {
  const [, sign, digits = ''] = WHOLE.exec(text) ?? []
  if (sign === undefined) return undefined
  const number = /^0[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number(digits)
  return sign === '-' ? -number : number
}

function inRange({ kind, least, most = Number.MAX_SAFE_INTEGER, zeroIsDefault }: Spec, number: number | undefined, text: string): Read {
  const isDuration = kind === 'duration'
  // What is not above zero stands for something else in SkyDNS, where it can be that.
  const isFit = number !== undefined && number <= most && (isDuration ? number === 0 || number >= least! : number >= (least ?? -most))
  if (isFit) return { value: number }
  const range = isDuration
    ? `a duration such as 2s or 500ms, from ${shownDuration(least!)} to ${shownDuration(most)}`
    : `a whole number, at most ${most}${zeroIsDefault ? '' : ', 0 for none'}`
  return { problem: `expected ${range}, not ${text}` }
}

function json(value: unknown): string {
  // As 1e999 is.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number that large'
  return shown(JSON.stringify(value)).slice(1, -1).replaceAll('\\"', '"')
}
