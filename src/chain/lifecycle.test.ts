import { describe, expect, test } from 'vitest'
import type { Layer } from '../plugin.js'
import { type Startable, startAll, stopAll } from './lifecycle.js'

const startable = (name: string, layer: Layer): Startable => ({ layer, directive: { name, at: { file: 'Corefile', line: 3, column: 1 } } })
const never = (): Promise<void> => new Promise(() => {})

/** Layers that write down what happens to them; `start` or `stop` fails in those of such a name. */
function recorder(...names: string[]): { events: string[]; layers: Startable[] } {
  const events: string[] = []
  const happen = (what: string, name: string): void => {
    events.push(`${what} ${name}`)
    if (name.startsWith(`no-${what}`)) throw new Error(`cannot ${what} ${name}`)
  }
  const layer = (name: string): Layer => ({ start: async () => happen('start', name), stop: () => happen('stop', name) })
  return { events, layers: names.map((name) => startable(name, layer(name))) }
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
      'Corefile:3: no-start: its plugin failed to start: cannot start no-start',
      ['start a', 'start no-start', 'stop no-start', 'stop a']
    ],
    [
      'and one that does not stop is told of as well',
      ['no-stop', 'b', 'no-start'],
      'Corefile:3: no-start: its plugin failed to start: cannot start no-start; and some plugins did not stop cleanly: no-stop: cannot stop no-stop',
      ['start no-stop', 'start b', 'start no-start', 'stop no-start', 'stop b', 'stop no-stop']
    ]
  ])('%s', async (_title, names, result, expected) => {
    const { events, layers } = recorder(...names)
    expect(await outcome(startAll(layers))).toBe(result)
    expect(events).toEqual(expected)
  })

  test('one that fails to stop keeps none from stopping', async () => {
    const { events, layers } = recorder('a', 'no-stop-1', 'no-stop-2', 'd')
    expect(await outcome(stopAll(layers))).toBe(
      'some plugins did not stop cleanly: no-stop-2: cannot stop no-stop-2; no-stop-1: cannot stop no-stop-1'
    )
    expect(events).toEqual(['stop d', 'stop no-stop-2', 'stop no-stop-1', 'stop a'])
  })

  test('layers without either are no trouble', async () => {
    expect(await outcome(startAll([startable('a', {}), startable('b', {})]))).toBe('done')
    expect(await outcome(stopAll([startable('a', {}), startable('b', {})]))).toBe('done')
  })

  test('one that never starts is told of, waited for, and stopped', async () => {
    const { events, layers } = recorder('a')
    const told: string[] = []
    const hangs = startable('hangs', { start: never, stop: () => void events.push('stop hangs') })
    const patience = { startMs: 50, tellMs: 10, tell: (text: string) => told.push(text) }
    expect(await outcome(startAll([...layers, hangs], patience))).toBe(
      'Corefile:3: hangs: its plugin failed to start: it has not within 0.05 s'
    )
    expect(told).toEqual(['hangs: its plugin is still starting after 0.01 s, and is waited for'])
    expect(events).toEqual(['start a', 'stop hangs', 'stop a'])
  })

  test('those that never stop take the time of one, and the others stop', async () => {
    const { events, layers } = recorder('a')
    const hanging = ['one', 'two'].map((name) => startable(name, { stop: never }))
    const begun = performance.now()
    expect(await outcome(stopAll([...layers, ...hanging], 100))).toBe(
      'some plugins did not stop cleanly: two: it has not within 0.1 s; one: it has not within 0.1 s'
    )
    expect(performance.now() - begun).toBeLessThan(180)
    expect(events).toEqual(['stop a'])
  })
})
