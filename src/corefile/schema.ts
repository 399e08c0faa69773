/**
 * What a directive takes, as data: parsing, error texts, `check`, the README's table and the TOML form all come from it.
 * A plugin writes its schema as a plain object, `as const satisfies Schema`; nothing of Skein is needed to make one.
 */
import type { Directive } from './directive.js'

/** A word's type, and what it becomes. */
export type ValueType =
  /** Any word, or what fits a pattern, described by `expected`. A secret one is shown in no message. */
  | { readonly type: 'text'; readonly pattern?: RegExp; readonly expected?: string; readonly secret?: true }
  /** `expected` says in words what is counted. */
  | { readonly type: 'integer'; readonly min: number; readonly max: number; readonly expected?: string }
  /** Go's durations (`300ms`, `1.5h`), read as milliseconds. `bare` lets a number alone stand for that unit. */
  | { readonly type: 'duration'; readonly min?: number; readonly max?: number; readonly bare?: 's' | 'ms' }
  | { readonly type: 'choice'; readonly of: readonly string[] }
  /** `on` or `off`. */
  | { readonly type: 'switch' }
  /** A domain name, read as canonical name. */
  | { readonly type: 'name' }
  /** A domain name or a network; a network becomes its reverse zones. */
  | { readonly type: 'zone' }
  | { readonly type: 'address' }
  | { readonly type: 'path' }

/** One argument. */
export type Argument = ValueType & {
  /** As the syntax shows it: `SECONDS`. */
  readonly name: string
  readonly about?: string
  /** Takes all arguments to the end of the line, but for the last word where it fits the `when` of an argument after this; the value is a list. */
  readonly rest?: true
  /** May be left out. Without a default the value is then undefined. */
  readonly optional?: true
  /** An optional one is left out where the word does not fit this: then the word is the next argument's. */
  readonly when?: RegExp
  readonly default?: unknown
}

/** One option in a directive's block. */
export interface Option {
  readonly about: string
  /** None makes it a flag: true where it stands. One makes its value; several make a list of values. */
  readonly args?: readonly Argument[]
  /** The value where the option is missing; false for a flag, else undefined. */
  readonly default?: unknown
  /** May stand several times: the value is a list, one entry a line. */
  readonly repeats?: true
  /** A block of its own. */
  readonly options?: Readonly<Record<string, Option>>
  /** `ignored`: accepted without effect, with any arguments where it names none. `later`: refused as not supported yet. */
  readonly status?: 'ignored' | 'later'
  /** What an option that is not supported yet should be replaced by. */
  readonly instead?: string
}

/** A directive. */
export interface Schema {
  readonly about: string
  readonly args?: readonly Argument[]
  /** Without it the directive takes no block. */
  readonly options?: Readonly<Record<string, Option>>
}

type ValueOf<A extends ValueType> = A extends { type: 'integer' | 'duration' }
  ? number
  : A extends { type: 'switch' }
    ? boolean
    : A extends { type: 'choice'; of: readonly (infer C)[] }
      ? C
      : A extends { type: 'zone' }
        ? readonly string[]
        : string

type ArgumentValue<A extends Argument> = A extends { rest: true }
  ? readonly (A extends { type: 'zone' } ? string : ValueOf<A>)[]
  : A extends { default: unknown }
    ? ValueOf<A>
    : A extends { optional: true }
      ? ValueOf<A> | undefined
      : ValueOf<A>

type ArgumentValues<T extends readonly Argument[]> = { readonly [K in keyof T]: ArgumentValue<T[K]> }

type LineValue<O extends Option> = O extends { options: infer B extends Readonly<Record<string, Option>> }
  ? {
      readonly args: O extends { args: infer T extends readonly Argument[] } ? ArgumentValues<T> : readonly []
      readonly options: OptionValues<B>
    }
  : O extends { args: readonly [infer A extends Argument] }
    ? ArgumentValue<A>
    : O extends { args: infer T extends readonly Argument[] }
      ? ArgumentValues<T>
      : true

type OptionValue<O extends Option> = O extends { repeats: true }
  ? readonly LineValue<O>[]
  : O extends { args: readonly Argument[] } | { options: object }
    ? O extends { default: infer D }
      ? LineValue<O> | (D extends undefined ? undefined : never)
      : LineValue<O> | undefined
    : boolean

type OptionValues<B extends Readonly<Record<string, Option>>> = {
  readonly [K in keyof B as B[K] extends { status: string } ? never : K]: OptionValue<B[K]>
}

/** What a directive says, by its schema. */
export interface Config<S extends Schema = Schema> {
  readonly args: S extends { args: infer T extends readonly Argument[] } ? ArgumentValues<T> : readonly []
  readonly options: S extends { options: infer B extends Readonly<Record<string, Option>> }
    ? OptionValues<B>
    : Readonly<Record<string, never>>
  /** The directive itself, for its zones and its place. */
  readonly directive: Directive
  /** The line of an option, the last one where it repeats: where a plugin that refines a value says what is wrong. Throws where the option is missing. */
  readonly line: (option: string) => Directive
  /** Fails at an option's line, or at the directive's where it is missing or none is named. */
  readonly fail: (problem: string, option?: string) => never
}
