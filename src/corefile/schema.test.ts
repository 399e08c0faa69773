/** What the types of a configuration are, by its schema. The compiler is the test: this file compiles. */
import { expectTypeOf, test } from 'vitest'
import type { Directive } from './directive.js'
import type { Config, Schema } from './schema.js'

const schema = {
  about: 'Has one of every kind.',
  args: [
    { name: 'ZONE', type: 'zone' },
    { name: 'SIZE', type: 'integer', min: 1, max: 9, optional: true, default: 3 },
    { name: 'NAME', type: 'name', optional: true },
    { name: 'WORDS', type: 'text', rest: true, optional: true }
  ],
  options: {
    flag: { about: '' },
    integer: { args: [{ name: 'N', type: 'integer', min: 0, max: 1 }], default: 1, about: '' },
    duration: { args: [{ name: 'D', type: 'duration' }], about: '' },
    choice: { args: [{ name: 'C', type: 'choice', of: ['a', 'b'] }], about: '' },
    toggle: { args: [{ name: 'S', type: 'switch' }], default: true, about: '' },
    address: { args: [{ name: 'A', type: 'address' }], about: '' },
    path: { args: [{ name: 'P', type: 'path', optional: true, default: 'data' }], about: '' },
    network: { args: [{ name: 'Z', type: 'zone' }], about: '' },
    zones: { args: [{ name: 'Z', type: 'zone', rest: true }], about: '' },
    numbers: { args: [{ name: 'N', type: 'integer', min: 0, max: 1, rest: true }], repeats: true, about: '' },
    pair: {
      args: [
        { name: 'K', type: 'text' },
        { name: 'N', type: 'integer', min: 0, max: 1, optional: true }
      ],
      about: ''
    },
    inner: {
      args: [{ name: 'N', type: 'integer', min: 0, max: 1 }],
      options: { deep: { about: '' }, later: { status: 'later', about: '' } },
      about: ''
    },
    blocks: { options: { deep: { about: '' } }, repeats: true, about: '' },
    old: { status: 'ignored', about: '' },
    soon: { status: 'later', about: '' }
  }
} as const satisfies Schema

type Of<K extends keyof Config<typeof schema>['options']> = Config<typeof schema>['options'][K]

test('arguments are a tuple of values', () => {
  type Args = Config<typeof schema>['args']
  expectTypeOf<Args>().toEqualTypeOf<readonly [readonly string[], number, string | undefined, readonly string[]]>()
})

test('options are values by their names, without those that have none', () => {
  expectTypeOf<Of<'flag'>>().toEqualTypeOf<boolean>()
  expectTypeOf<Of<'integer'>>().toEqualTypeOf<number>()
  expectTypeOf<Of<'duration'>>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Of<'choice'>>().toEqualTypeOf<'a' | 'b' | undefined>()
  expectTypeOf<Of<'toggle'>>().toEqualTypeOf<boolean>()
  expectTypeOf<Of<'address'>>().toEqualTypeOf<string | undefined>()
  expectTypeOf<Of<'path'>>().toEqualTypeOf<string | undefined>()
  expectTypeOf<Of<'network'>>().toEqualTypeOf<readonly string[] | undefined>()
  expectTypeOf<Of<'zones'>>().toEqualTypeOf<readonly string[] | undefined>()
  expectTypeOf<Of<'numbers'>>().toEqualTypeOf<readonly (readonly number[])[]>()
  expectTypeOf<Of<'pair'>>().toEqualTypeOf<readonly [string, number | undefined] | undefined>()
  expectTypeOf<keyof Config<typeof schema>['options'] & ('old' | 'soon')>().toEqualTypeOf<never>()
})

test('a block of an option has arguments and options of its own', () => {
  type Inner = { readonly args: readonly [number]; readonly options: { readonly deep: boolean } }
  expectTypeOf<Of<'inner'>>().toEqualTypeOf<Inner | undefined>()
  expectTypeOf<Of<'blocks'>>().toEqualTypeOf<readonly { readonly args: readonly []; readonly options: { readonly deep: boolean } }[]>()
})

test('without arguments and options there are none', () => {
  expectTypeOf<Config['args']>().toEqualTypeOf<readonly []>()
  expectTypeOf<Config['options']>().toEqualTypeOf<Readonly<Record<string, never>>>()
  expectTypeOf<Config['directive']>().toEqualTypeOf<Directive>()
  expectTypeOf<ReturnType<Config['fail']>>().toEqualTypeOf<never>()
})

test('what is no schema does not compile', () => {
  // @ts-expect-error an integer has bounds
  const boundless = { about: '', args: [{ name: 'N', type: 'integer' }] } as const satisfies Schema
  // @ts-expect-error a type that there is not
  const typeless = { about: '', args: [{ name: 'N', type: 'number' }] } as const satisfies Schema
  // @ts-expect-error an option says what it does
  const mute = { about: '', options: { a: {} } } as const satisfies Schema
  expectTypeOf([boundless, typeless, mute]).toBeArray()
})
