import { describe, expect, test } from 'vitest'
import { Directive } from '../corefile/directive.js'
import type { Plugin } from '../plugin.js'
import { checkRepeats, inOrder, type Use } from './place.js'

let line = 1

function use(name: string, more: Partial<Plugin> = {}, spelled = name): Use {
  const directive = new Directive(spelled, [], { file: 'Corefile', line: ++line, column: 3 }, ['.'])
  return { directive, plugin: { name, api: 1, setup: () => ({}), ...more } }
}

const names = (uses: readonly Use[]): string =>
  inOrder(uses)
    .map(({ plugin }) => plugin.name)
    .join(' ')

describe('the layers of a server block', () => {
  test.each<[string, readonly Use[], string]>([
    [
      'stand in the standard order, whatever that of the Corefile',
      ['forward', 'etcd-backend', 'whoami', 'chaos', 'any', 'log', 'errors', 'bind'].map((name) => use(name)),
      'bind errors log any chaos etcd-backend forward whoami'
    ],
    [
      'are those of ServeDNS of SkyDNS in its order',
      ['forward', 'etcd-backend', 'dnssec', 'chaos', 'stub', 'cache', 'roundrobin', 'metrics'].map((name) => use(name)),
      'metrics roundrobin cache stub chaos dnssec etcd-backend forward'
    ],
    ["have a third party's before `forward`", [use('forward'), use('etcd-backend'), use('hello')], 'etcd-backend hello forward'],
    ['have one before another', [use('cache'), use('early', { order: { before: 'cache' } }), use('acl')], 'acl early cache'],
    ['have one after another', [use('cache'), use('geo', { order: { after: 'acl' } }), use('acl')], 'acl geo cache'],
    [
      'take an anchor by its directive too',
      [use('etcd-backend'), use('geo', { order: { before: 'etcd' } }), use('chaos')],
      'chaos geo etcd-backend'
    ],
    ['keep the order of the Corefile at one place', [use('one'), use('two'), use('forward'), use('three')], 'one two three forward'],
    ['need no anchor that is configured', [use('whoami'), use('geo', { order: { before: 'cache' } }), use('log')], 'log geo whoami'],
    ['ignore the wishes of a name in the standard order', [use('log', { order: { after: 'forward' } }), use('forward')], 'log forward']
  ])('%s', (_title, uses, expected) => {
    expect(names(uses)).toBe(expected)
  })
})

describe('a directive that stands twice', () => {
  test('is an error that names both lines', () => {
    const [one, two] = [use('etcd-backend', {}, 'etcd'), use('etcd-backend', {}, 'etcd')]
    const lines = [one, two].map(({ directive }) => directive.at.line)
    expect(() => checkRepeats([one, use('log'), two])).toThrow(
      `Corefile:${lines[1]}: etcd: may stand only once in a server block, and stands in line ${lines[0]} already`
    )
  })

  test('names the file of the other line where that is another', () => {
    const one = use('cache')
    const two: Use = { ...one, directive: new Directive('cache', [], { file: 'sub/i.conf', line: 2, column: 1 }, ['.']) }
    expect(() => checkRepeats([two, one])).toThrow(`stands in sub/i.conf:2 already`)
    expect(() => checkRepeats([one, two])).toThrow(`sub/i.conf:2: cache: may stand only once in a server block, and stands in Corefile:`)
  })

  test('is none where its plugin is repeatable', () => {
    expect(() => checkRepeats([use('whoami', { repeatable: true }), use('whoami', { repeatable: true })])).not.toThrow()
  })
})
