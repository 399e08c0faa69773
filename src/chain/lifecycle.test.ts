import { describe, expect, test } from 'vitest'
import type { Layer } from '../plugin.js'
import { startAll, stopAll } from './lifecycle.js'

/** Layers that write down what happens to them; `start` or `stop` fails in those of such a name. */
function recorder(...names: string[]): { events: string[]; layers: Layer[] } {
  const events: string[] = []
  const happen = (what: string, name: string): void => {
    events.push(`${what} ${name}`)
    if (name.startsWith(`no-${what}`)) throw new Error(`cannot ${what} ${name}`)
  }
  return { events, layers: names.map((name) => ({ start: async () => happen('start', name), stop: () => happen('stop', name) })) }
}

const outcome = (run: Promise<void>): Promise<string> =>
  run.then(
    () => 'done',
    (error: Error) => [error.message, ...((error as AggregateError).errors ?? []).map(({ message }: Error) => message)].join(': ')
  )

describe('layers start in order and stop in reverse', () => {
  test.each<[string, readonly string[], string, readonly string[]]>([
    ['all of them', ['a', 'b', 'c'], 'done', ['start a', 'start b', 'start c']],
    [
      'but for those after one that fails',
      ['a', 'no-start', 'c'],
      'cannot start no-start',
      ['start a', 'start no-start', 'stop no-start', 'stop a']
    ],
    [
      'and one that does not stop is told of as well',
      ['no-stop', 'b', 'no-start'],
      'a plugin did not start, and another did not stop: cannot start no-start: some plugins did not stop cleanly',
      ['start no-stop', 'start b', 'start no-start', 'stop no-start', 'stop b', 'stop no-stop']
    ]
  ])('%s', async (_title, names, result, expected) => {
    const { events, layers } = recorder(...names)
    expect(await outcome(startAll(layers))).toBe(result)
    expect(events).toEqual(expected)
  })

  test('one that fails to stop keeps none from stopping', async () => {
    const { events, layers } = recorder('a', 'no-stop-1', 'no-stop-2', 'd')
    expect(await outcome(stopAll(layers))).toBe('some plugins did not stop cleanly: cannot stop no-stop-2: cannot stop no-stop-1')
    expect(events).toEqual(['stop d', 'stop no-stop-2', 'stop no-stop-1', 'stop a'])
  })

  test('layers without either are no trouble', async () => {
    expect(await outcome(startAll([{}, {}]))).toBe('done')
    expect(await outcome(stopAll([{}, {}]))).toBe('done')
  })
})
