import { expect, test } from 'vitest'
import { PromRegistry } from './metrics.js'

test('counters are plain numbers that are there when somebody scrapes', async () => {
  const metrics = new PromRegistry()
  const counter = metrics.counter('skein_things_total', 'Things.')
  expect(metrics.counter('skein_things_total', 'Things.')).toBe(counter)
  expect(await metrics.registry.metrics()).toContain('skein_things_total 0')
  counter.value += 3
  const text = await metrics.registry.metrics()
  expect(text).toContain('# HELP skein_things_total Things.\n# TYPE skein_things_total counter\nskein_things_total 3')
  counter.value++
  expect(await metrics.registry.metrics()).toContain('skein_things_total 4')
})

test('gauges are read when somebody scrapes, the first under a name', async () => {
  const metrics = new PromRegistry()
  let value = 5
  metrics.gauge('skein_level', 'Level.', () => value)
  metrics.gauge('skein_level', 'Level.', () => -1)
  expect(await metrics.registry.metrics()).toContain('# TYPE skein_level gauge\nskein_level 5')
  value = 2.5
  expect(await metrics.registry.metrics()).toContain('skein_level 2.5')
})

test('two registries share nothing', async () => {
  const [one, two] = [new PromRegistry(), new PromRegistry()]
  one.counter('skein_things_total', 'Things.').value = 1
  two.counter('skein_things_total', 'Things.')
  expect(await two.registry.metrics()).toContain('skein_things_total 0')
})
