import { describe, expect, test } from 'vitest'
import { ConfigError, Directive } from '../corefile/directive.js'
import type { Layer } from '../plugin.js'
import { startAll, stopAll } from './lifecycle.js'

interface Uses {
  readonly layer: Layer
  readonly directive: Directive
}

/** Layers of directives, each on a line of its own. */
function uses(...layers: readonly [name: string, layer: Layer][]): Uses[] {
  return layers.map(([name, layer], index) => ({
    layer,
    directive: new Directive(name, [], { file: 'Corefile', line: index + 1, column: 1 }, ['.'])
  }))
}

/** Layers that write down what happens to them; `start` or `stop` fails in those of such a name. */
function recorder(...names: string[]): { events: string[]; layers: Uses[] } {
  const events: string[] = []
  const happen = (what: string, name: string): void => {
    events.push(`${what} ${name}`)
    if (name.startsWith(`no-${what}`)) throw new Error(`cannot ${what}`)
  }
  const layer = (name: string): Layer => ({ start: async () => happen('start', name), stop: () => happen('stop', name) })
  return { events, layers: uses(...names.map((name): [string, Layer] => [name, layer(name)])) }
}

const outcome = (run: Promise<void>): Promise<string> =>
  run.then(
    () => 'done',
    (error: Error) => error.message
  )

describe('layers start in order and stop in reverse', () => {
  test.each<[string, readonly string[], string, readonly string[]]>([
    ['all of them', ['a', 'b', 'c'], 'done', ['start a', 'start b', 'start c']],
    [
      'but for those after one that fails',
      ['a', 'no-start', 'c'],
      'Corefile:2: no-start: its plugin failed to start: cannot start',
      ['start a', 'start no-start', 'stop no-start', 'stop a']
    ],
    [
      'and one that does not stop is told of as well',
      ['no-stop', 'b', 'no-start'],
      'Corefile:3: no-start: its plugin failed to start: cannot start; Corefile:1: no-stop: its plugin failed to stop: cannot stop',
      ['start no-stop', 'start b', 'start no-start', 'stop no-start', 'stop b', 'stop no-stop']
    ]
  ])('%s', async (_title, names, result, expected) => {
    const { events, layers } = recorder(...names)
    expect(await outcome(startAll(layers))).toBe(result)
    expect(events).toEqual(expected)
  })

  test('a mistake that a plugin finds when it starts is told in its own words', async () => {
    const start = (): never => {
      throw new ConfigError('the port is in use')
    }
    expect(await outcome(startAll(uses(['listens', { start }])))).toBe('Corefile:1: listens: the port is in use')
  })

  test('one that fails to stop keeps none from stopping', async () => {
    const { events, layers } = recorder('a', 'no-stop-1', 'no-stop-2', 'd')
    expect(await outcome(stopAll(layers))).toBe(
      'Corefile:3: no-stop-2: its plugin failed to stop: cannot stop; Corefile:2: no-stop-1: its plugin failed to stop: cannot stop'
    )
    expect(events).toEqual(['stop d', 'stop no-stop-2', 'stop no-stop-1', 'stop a'])
  })

  test('one that never stops is not waited for beyond the time for all', async () => {
    const { events, layers } = recorder('a')
    const never = uses(['never', { stop: () => new Promise(() => {}) }])
    expect(await outcome(stopAll([...layers, ...never], 20))).toBe(
      'Corefile:1: never: its plugin failed to stop: it takes too long, and is not waited for'
    )
    expect(events).toEqual(['stop a'])
  })

  test('layers without either are no trouble', async () => {
    expect(await outcome(startAll(uses(['a', {}], ['b', {}])))).toBe('done')
    expect(await outcome(stopAll(uses(['a', {}], ['b', {}])))).toBe('done')
  })
})
