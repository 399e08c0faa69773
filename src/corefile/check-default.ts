/** Whether a default is what reading a word of its type would give. */
import { isIP } from 'node:net'
import { canonicalName } from '../message/name.js'
import type { Given } from './given.js'
import type { Argument, Option, ValueType } from './schema.js'
import { expected } from './value.js'

/** That of an option whose arguments are right already. Throws GivenError. */
export function checkDefault(option: Given): void {
  const value = option.get('default')
  if (value.isMissing) return
  if ((option.value as Option).repeats !== true) return checkLine(option, value)
  for (const line of value.list('a list with a value for each line')) checkLine(option, line)
}

/** What one line of an option gives. */
function checkLine(option: Given, value: Given): void {
  const { args, options } = option.value as Option
  if (options !== undefined) {
    value.members('an object { args, options }, as a line gives')
    return
  }
  if (args === undefined) {
    value.flag()
    return
  }
  const items = option.get('args').list('')
  if (items.length === 1) return checkValue(items[0]!, value)
  const values = value.list(`a list of ${items.length} values`)
  if (values.length !== items.length) value.refuse(`has ${values.length} values, expected ${items.length}, one for each argument`)
  for (const [index, item] of items.entries()) checkValue(item, values[index]!)
}

/** What an argument's words give; undefined always may stand for none. Throws GivenError. */
export function checkValue(argument: Given, value: Given): void {
  if (value.isMissing) return
  const type = argument.value as Argument
  if (type.rest === true) {
    const one: ValueType = type.type === 'zone' ? { type: 'name' } : type
    for (const item of value.list(`a list, as it takes the rest of the line`)) if (!fits(item.value, one)) item.fail(read(one))
  } else if (!fits(value.value, type)) value.fail(read(type))
}

function fits(value: unknown, type: ValueType): boolean {
  switch (type.type) {
    case 'integer':
      return Number.isSafeInteger(value) && isWithin(value as number, type.min, type.max)
    case 'duration':
      return Number.isFinite(value) && isWithin(value as number, type.min ?? 0, type.max ?? Number.MAX_SAFE_INTEGER)
    case 'choice':
      return type.of.includes(value as string)
    case 'switch':
      return typeof value === 'boolean'
    case 'name':
      return isCanonical(value)
    case 'zone':
      return Array.isArray(value) && value.length > 0 && value.every(isCanonical)
    case 'address':
      return typeof value === 'string' && isIP(value) !== 0
    case 'path':
      return typeof value === 'string' && value !== ''
    case 'text':
      return typeof value === 'string' && (type.pattern === undefined || type.pattern.test(value))
  }
}

/** What a word of this type becomes, in words. */
function read(type: ValueType): string {
  switch (type.type) {
    case 'duration':
      return `a number of milliseconds${type.min === undefined ? '' : `, at least ${type.min}`}${type.max === undefined ? '' : `, at most ${type.max}`}`
    case 'switch':
      return 'true or false'
    case 'name':
      return 'a canonical name such as "www.example.org."'
    case 'zone':
      return 'a list of canonical names such as ["example.org."]'
    case 'address':
      return 'an IP address without brackets'
    default:
      return expected(type)
  }
}

function isWithin(value: number, min: number, max: number): boolean {
  return value >= min && value <= max
}

/** Whether a value is a name in the one spelling of Skein. */
export function isCanonical(value: unknown): boolean {
  try {
    return typeof value === 'string' && canonicalName(value) === value
  } catch {
    return false
  }
}
