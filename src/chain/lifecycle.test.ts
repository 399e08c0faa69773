import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ConfigError, Directive } from '../corefile/directive.js'
import type { Layer } from '../plugin.js'
import { drainAll, type Startable, startAll, stopAll } from './lifecycle.js'

const never = (): Promise<void> => new Promise(() => {})

/** Layers of directives, each on a line of its own. */
function uses(...layers: readonly [name: string, layer: Layer][]): Startable[] {
  return layers.map(([name, layer], index) => ({
    layer,
    directive: new Directive(name, [], { file: 'Corefile', line: index + 1, column: 1 }, ['.'])
  }))
}

/** Layers that write down what happens to them; `start` or `stop` fails in those of such a name. */
function recorder(...names: string[]): { events: string[]; layers: Startable[] } {
  const events: string[] = []
  const happen = (what: string, name: string): void => {
    events.push(`${what} ${name}`)
    if (name.startsWith(`no-${what}`)) throw new Error(`cannot ${what}`)
  }
  const layer = (name: string): Layer => ({ start: async () => happen('start', name), stop: () => happen('stop', name) })
  return { events, layers: uses(...names.map((name): [string, Layer] => [name, layer(name)])) }
}

/** What is told while layers drain. */
async function drained(layers: readonly Startable[], withinMs?: number): Promise<string[]> {
  const told: string[] = []
  await drainAll(layers, (text) => told.push(text), withinMs)
  return told
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

  test('layers without either are no trouble', async () => {
    expect(await outcome(startAll(uses(['a', {}], ['b', {}])))).toBe('done')
    expect(await outcome(stopAll(uses(['a', {}], ['b', {}])))).toBe('done')
    expect(await drained(uses(['a', {}], ['b', {}]))).toEqual([])
  })

  test('one that never starts is told of, waited for, and stopped', async () => {
    const { events, layers } = recorder('a')
    const told: string[] = []
    const [hangs] = uses(['hangs', { start: never, stop: () => void events.push('stop hangs') }])
    const patience = { startMs: 50, tellMs: 10, tell: (text: string) => told.push(text) }
    expect(await outcome(startAll([...layers, hangs!], patience))).toBe(
      'Corefile:1: hangs: its plugin failed to start: it has not within 0.05 s, and is not waited for'
    )
    expect(told).toEqual(['Corefile:1: hangs: its plugin is still starting after 0.01 s, and is waited for'])
    expect(events).toEqual(['start a', 'stop hangs', 'stop a'])
  })

  test('those that never stop take the time of one, and the others stop', async () => {
    const { events, layers } = recorder('a')
    const begun = performance.now()
    expect(await outcome(stopAll([...layers, ...uses(['one', { stop: never }], ['two', { stop: never }])], 100))).toBe(
      [
        'Corefile:2: two: its plugin failed to stop: it has not within 0.1 s, and is not waited for',
        'Corefile:1: one: its plugin failed to stop: it has not within 0.1 s, and is not waited for'
      ].join('; ')
    )
    expect(performance.now() - begun).toBeLessThan(180)
    expect(events).toEqual(['stop a'])
  })

  test('before the stop all have their time at once, a third party’s no more than so long, and each that fails is told of', async () => {
    const done: string[] = []
    const waits: Layer = { drain: () => sleep(60).then(() => void done.push('own')) }
    const [own, fails, hangs] = uses(
      ['own', waits],
      ['fails', { drain: () => Promise.reject(new Error('no')) }],
      ['hangs', { drain: never }]
    )
    expect(await drained([own!, fails!, { ...hangs!, url: 'file:///third/party.js' }], 20)).toEqual([
      'Corefile:2: fails: its plugin failed before the stop: no',
      'Corefile:3: hangs: its plugin failed before the stop: it has not within 0.02 s, and is not waited for'
    ])
    expect(done).toEqual(['own'])
  })
})
