import { describe, expect, test } from 'vitest'
import { checkSchema } from './check-schema.js'
import { Given, problemOf } from './given.js'

const problem = (schema: unknown): string | undefined => problemOf(() => checkSchema(Given.of(schema, 'schema')))

/** A schema of one argument, and one of one option. */
const argument = (argument: unknown): unknown => ({ about: '', args: [argument] })
const option = (option: unknown): unknown => ({ about: '', options: { ttl: option } })

const A = { name: 'A', type: 'text' }
const OPTIONAL = { ...A, optional: true }
const TYPES = 'text, integer, duration, choice, switch, name, zone, address, path'
const N = { name: 'N', type: 'integer', min: 1, max: 9, optional: true }

/** Options in options, so many times. */
function nested(depth: number): object {
  return depth === 0 ? { about: '' } : { about: '', options: { a: nested(depth - 1) } }
}

function circle(): unknown {
  const inner: { about: string; options: object } = { about: '', options: {} }
  inner.options = { a: inner }
  return inner
}

describe('a mistake in a schema is told with the way to it', () => {
  test.each<[string, unknown, string]>([
    ['null', null, "its schema is null, expected an object such as { about: '…', args: […], options: {…} }"],
    ['a list', [], 'its schema is an empty list, expected an object such as'],
    ['a text', 'x', 'its schema is the text "x", expected an object such as'],
    ['no about', {}, 'its schema has no about, expected a sentence that says what it is for'],
    ['an about of several lines', { about: 'a\nb' }, 'its schema.about has a line end or a control character, expected one line'],
    ['another word', { about: '', arguments: [] }, 'its schema has "arguments", which means nothing there: did you mean args?'],
    ['a slip', { about: '', opitons: {} }, 'its schema has "opitons", which means nothing there: did you mean options?'],
    ['anything', { about: '', x: 1 }, 'its schema has "x", which means nothing there: expected one of about, args, options'],
    [
      'a type beside args',
      { about: '', type: 'text' },
      'its schema has "type", which means nothing there: what it takes stands in args: [{ name, type }]'
    ],
    [
      'a getter that throws',
      {
        get about() {
          throw new Error('one\ntwo')
        }
      },
      'its schema.about cannot be read: one two'
    ]
  ])('%s', (_title, schema, expected) => {
    expect(problem(schema)).toContain(expected)
  })

  test.each<[string, unknown, string]>([
    ['args that are a text', 'A', `its schema.args is the text "A", expected a list such as [{ name: 'NAME', type: 'text' }]`],
    ['args that are an object', { A: 'text' }, 'its schema.args is an object, expected a list'],
    ['args that are null', null, 'its schema.args is null, expected a list'],
    ['a name alone', ['NAME'], `its schema.args[0] is the text "NAME", expected an object such as { name: 'NAME', type: 'text' }`],
    ['a hole', [A, undefined], 'its schema.args[1] is undefined, expected an object'],
    ['no name', [{ type: 'text' }], 'its schema.args[0] has no name, expected a word for messages, such as SECONDS'],
    ['an empty name', [{ ...A, name: '' }], 'its schema.args[0].name is the text "", expected one word for messages'],
    ['two words as name', [{ ...A, name: 'A B' }], 'its schema.args[0].name is the text "A B", expected one word'],
    ['the same name twice', [A, { ...A, name: 'a' }], 'its schema.args[0] has the name A, and so has another, expected each once'],
    [
      'rest before the end',
      [
        { ...A, rest: true },
        { ...A, name: 'B' }
      ],
      'its schema.args[0] takes the rest of the line and is not the last one'
    ],
    [
      'one that may be missing before one that may not',
      [OPTIONAL, { ...A, name: 'B' }],
      'its schema.args[0] is optional, and B behind it is not: expected `when`, a pattern of the words that are its own'
    ]
  ])('%s', (_title, args, expected) => {
    expect(problem({ about: '', args })).toContain(expected)
  })

  test.each<[string, unknown, string]>([
    ['no type', { name: 'A' }, `its schema.args[0] has no type, expected one of ${TYPES}`],
    ['string', { ...A, type: 'string' }, `its schema.args[0].type is the text "string", expected one of ${TYPES}: did you mean text?`],
    [
      'a slip',
      { ...A, type: 'adress' },
      'expected one of text, integer, duration, choice, switch, name, zone, address, path: did you mean'
    ],
    ['boolean', { ...A, type: 'boolean' }, 'did you mean switch?'],
    ['number', { ...A, type: 'number' }, 'did you mean integer?'],
    ['ip', { ...A, type: 'ip' }, 'did you mean address?'],
    ['constructor', { ...A, type: 'constructor' }, `its schema.args[0].type is the text "constructor", expected one of ${TYPES}`],
    ['a function', { ...A, type: String }, 'its schema.args[0].type is a function, expected one of'],
    ['optinal', { ...A, optinal: true }, 'its schema.args[0] has "optinal", which means nothing there: did you mean optional?'],
    ['required', { ...A, required: true }, 'its schema.args[0] has "required", which means nothing there: an argument is required where'],
    ['what another type has', { ...A, min: 1 }, 'its schema.args[0] has "min", which means nothing there: expected one of name, type,'],
    ['optional in words', { ...A, optional: 'yes' }, 'its schema.args[0].optional is the text "yes", expected true or false'],
    ['rest as a number', { ...A, rest: 1 }, 'its schema.args[0].rest is 1, expected true or false'],
    ['secret as a text', { ...A, secret: 'x' }, 'its schema.args[0].secret is the text "x", expected true or false'],
    ['no min', { name: 'N', type: 'integer', max: 9 }, 'its schema.args[0] has no min, expected a whole number'],
    ['no max', { name: 'N', type: 'integer', min: 9 }, 'its schema.args[0] has no max, expected a whole number'],
    ['no end', { ...N, max: Number.POSITIVE_INFINITY }, 'its schema.args[0].max is Infinity, expected a whole number'],
    ['a text as min', { ...N, min: '1' }, 'its schema.args[0].min is the text "1", expected a whole number'],
    ['min above max', { ...N, min: 10 }, 'its schema.args[0].min is 10 and above the max of 9, expected at most that'],
    [
      'a duration in words',
      { name: 'D', type: 'duration', max: '5m' },
      'its schema.args[0].max is the text "5m", expected a number of mill'
    ],
    ['min above max of one', { name: 'D', type: 'duration', min: 2, max: 1 }, 'its schema.args[0].min is 2 and above the max of 1'],
    ['a unit that is none', { name: 'D', type: 'duration', bare: 'm' }, 'its schema.args[0].bare is the text "m", expected s or ms'],
    ['no words', { ...A, type: 'choice' }, "its schema.args[0] has no of, expected a list of words such as ['fast', 'slow']"],
    ['an empty choice', { ...A, type: 'choice', of: [] }, 'its schema.args[0].of is an empty list, expected words to choose from'],
    ['numbers to choose from', { ...A, type: 'choice', of: ['a', 1] }, 'its schema.args[0].of[1] is 1, expected a word'],
    [
      'a pattern without words',
      { ...A, pattern: /^a$/ },
      'its schema.args[0] has a pattern and no `expected`, which says in words what fits it'
    ],
    [
      'a pattern that is a text',
      { ...A, pattern: '^a$', expected: 'an a' },
      'its schema.args[0].pattern is the text "^a$", expected a regular expression such as /^[a-z]+$/'
    ],
    [
      'a pattern that remembers',
      { ...A, pattern: /a/g, expected: 'an a' },
      'its schema.args[0].pattern is the pattern /a/g, expected one without the flags g and y'
    ],
    ['when that remembers', { ...OPTIONAL, when: /a/y }, 'its schema.args[0].when is the pattern /a/y, expected one without the flags'],
    [
      'when without optional',
      { ...A, when: /a/ },
      'its schema.args[0].when stands in an argument that must be there, expected optional: true'
    ],
    ['a default without optional', { ...A, default: 'a' }, 'its schema.args[0].default stands in an argument that must be there']
  ])('%s', (_title, given, expected) => {
    expect(problem(argument(given))).toContain(expected)
  })

  test.each<[string, unknown, string]>([
    ['a list', ['ttl'], "its schema.options is a list, expected an object such as { NAME: { about: '…' } }"],
    ['null', null, 'its schema.options is null, expected an object'],
    ['a map', new Map(), 'its schema.options is an object, expected an object such as'],
    ['a name with a space', { 'a b': { about: '' } }, 'its schema.options has the option "a b", expected a name that is one word'],
    ['a name that nobody can write', { '{': { about: '' } }, 'its schema.options has the option "{", expected a name that is one word'],
    [
      'a name that is no member',
      JSON.parse('{"__proto__":{"about":""}}'),
      'its schema.options has the option "__proto__", expected a name'
    ],
    [
      'an option that is a text',
      { ttl: 'integer' },
      `its schema.options.ttl is the text "integer", expected an object such as { about: '…', args`
    ],
    ['deep inside', { a: { about: '', options: { b: { about: '', args: [{}] } } } }, 'its schema.options.a.options.b.args[0] has no type'],
    ['a circle', { a: circle() }, 'is options in options, expected at most 16 levels']
  ])('options: %s', (_title, options, expected) => {
    expect(problem({ about: '', options })).toContain(expected)
  })

  test.each<[string, unknown, string]>([
    ['no about', {}, 'its schema.options.ttl has no about, expected a sentence'],
    [
      'the type of its argument',
      { about: '', type: 'text' },
      'its schema.options.ttl has "type", which means nothing there: what it takes stands in'
    ],
    [
      'optional',
      { about: '', optional: true },
      'its schema.options.ttl has "optional", which means nothing there: what it takes stands in args'
    ],
    [
      'another word',
      { about: '', repeatable: true },
      'its schema.options.ttl has "repeatable", which means nothing there: did you mean repeats?'
    ],
    ['a status that is none', { about: '', status: 'soon' }, 'its schema.options.ttl.status is the text "soon", expected ignored or later'],
    ['instead of nothing', { about: '', instead: 'x' }, "its schema.options.ttl.instead stands without status: 'later', expected both"],
    ['repeats in words', { about: '', repeats: 'yes' }, 'its schema.options.ttl.repeats is the text "yes", expected true or false'],
    [
      'a flag whose default is a text',
      { about: '', default: 'on' },
      'its schema.options.ttl.default is the text "on", expected true or false'
    ],
    [
      'a default outside of the limits',
      { about: '', args: [N], default: 0 },
      'its schema.options.ttl.default is 0, expected a whole number from 1 to 9'
    ],
    ['a text as number', { about: '', args: [N], default: '5' }, 'its schema.options.ttl.default is the text "5", expected a whole number'],
    [
      'a duration as a word',
      { about: '', args: [{ name: 'D', type: 'duration', max: 9000 }], default: '5s' },
      'its schema.options.ttl.default is the text "5s", expected a number of milliseconds, at most 9000'
    ],
    [
      'a switch as a word',
      { about: '', args: [{ name: 'S', type: 'switch' }], default: 'on' },
      'its schema.options.ttl.default is the text "on", expected true or false'
    ],
    [
      'a word that is none to choose from',
      { about: '', args: [{ name: 'C', type: 'choice', of: ['a', 'b'] }], default: 'c' },
      'its schema.options.ttl.default is the text "c", expected one of a, b'
    ],
    [
      'a name without a dot',
      { about: '', args: [{ name: 'D', type: 'name' }], default: 'example.org' },
      'its schema.options.ttl.default is the text "example.org", expected a canonical name such as "www.example.org."'
    ],
    [
      'a zone alone',
      { about: '', args: [{ name: 'Z', type: 'zone' }], default: '.' },
      'its schema.options.ttl.default is the text ".", expected a list of canonical names'
    ],
    [
      'an address in brackets',
      { about: '', args: [{ name: 'A', type: 'address' }], default: '[::1]' },
      'its schema.options.ttl.default is the text "[::1]", expected an IP address without brackets'
    ],
    [
      'a text beside its pattern',
      { about: '', args: [{ ...A, pattern: /^a$/, expected: 'an a' }], default: 'b' },
      'its schema.options.ttl.default is the text "b", expected an a'
    ],
    [
      'one value for the rest',
      { about: '', args: [{ ...A, rest: true }], default: 'a' },
      'its schema.options.ttl.default is the text "a", expected a list, as it takes the rest of the line'
    ],
    [
      'one of the rest',
      { about: '', args: [{ ...A, rest: true }], default: ['a', 1] },
      'its schema.options.ttl.default[1] is 1, expected a text'
    ],
    [
      'one value of two',
      { about: '', args: [A, { ...A, name: 'B' }], default: ['a'] },
      'its schema.options.ttl.default has 1 values, expected 2'
    ],
    [
      'one line of several',
      { about: '', args: [A], repeats: true, default: 'a' },
      'its schema.options.ttl.default is the text "a", expected a list with'
    ],
    [
      'a default of an argument',
      { about: '', args: [{ ...N, default: 10 }] },
      'its schema.options.ttl.args[0].default is 10, expected a whole number'
    ]
  ])('an option with %s', (_title, given, expected) => {
    expect(problem(option(given))).toContain(expected)
  })
})

describe('what is right passes', () => {
  test.each<[string, unknown]>([
    ['nothing but what it is for', { about: '' }],
    ['without a prototype', Object.assign(Object.create(null), { about: '' })],
    ['as deep as blocks go', nested(16)],
    [
      'a default of each type',
      {
        about: 'x',
        options: {
          text: { about: '', args: [A], default: '' },
          integer: { about: '', args: [N], default: 9 },
          duration: { about: '', args: [{ name: 'D', type: 'duration', min: 1, bare: 's' }], default: 1.5 },
          choice: { about: '', args: [{ name: 'C', type: 'choice', of: ['a'] }], default: 'a' },
          switch: { about: '', args: [{ name: 'S', type: 'switch' }], default: false },
          name: { about: '', args: [{ name: 'N', type: 'name' }], default: 'a.' },
          zone: { about: '', args: [{ name: 'Z', type: 'zone' }], default: ['a.', '.'] },
          zones: { about: '', args: [{ name: 'Z', type: 'zone', rest: true }], default: ['.'] },
          lines: { about: '', args: [{ name: 'Z', type: 'zone', rest: true }], repeats: true, default: [['.'], []] },
          address: { about: '', args: [{ name: 'A', type: 'address' }], default: '::1' },
          path: { about: '', args: [{ name: 'P', type: 'path' }], default: './x' },
          pair: { about: '', args: [A, { ...N, optional: true }], default: ['a', undefined] },
          none: { about: '', args: [A], default: undefined },
          block: { about: '', args: [A], options: { x: { about: '' } }, default: { args: ['a'], options: { x: false } } },
          old: { about: '', status: 'ignored', args: [] },
          soon: { about: '', status: 'later', instead: 'ttl' },
          'with-hyphen_1.x': { about: '' }
        }
      }
    ],
    [
      'one that may be missing, told by its looks',
      {
        about: '',
        args: [
          { ...OPTIONAL, when: /^\d/ },
          { ...A, name: 'B', rest: true }
        ]
      }
    ],
    [
      'one behind the rest that is told by its looks',
      {
        about: '',
        args: [
          { ...A, rest: true },
          { ...OPTIONAL, name: 'B', when: /x/ }
        ]
      }
    ],
    ['several that may be missing', { about: '', args: [OPTIONAL, { ...OPTIONAL, name: 'B', rest: true, default: ['a'] }] }]
  ])('%s', (_title, schema) => {
    expect(problem(schema)).toBeUndefined()
  })
})
