import { expect, test } from 'vitest'
import { PromRegistry } from './metrics.js'

test('counters are plain numbers that are there when somebody scrapes', async () => {
  const metrics = new PromRegistry()
  const counter = metrics.counter('skein_things_total', 'Things.')
  expect(metrics.counter('skein_things_total', 'Things.')).toBe(counter)
  expect(await metrics.text()).toContain('skein_things_total 0')
  counter.value += 3
  const text = await metrics.text()
  expect(text).toContain('# HELP skein_things_total Things.\n# TYPE skein_things_total counter\nskein_things_total 3')
  counter.value++
  expect(await metrics.text()).toContain('skein_things_total 4')
})

test('gauges are read when somebody scrapes, the first under a name', async () => {
  const metrics = new PromRegistry()
  let value = 5
  metrics.gauge('skein_level', 'Level.', () => value)
  metrics.gauge('skein_level', 'Level.', () => -1)
  expect(await metrics.text()).toContain('# TYPE skein_level gauge\nskein_level 5')
  value = 2.5
  expect(await metrics.text()).toContain('skein_level 2.5')
})

test('two registries share nothing', async () => {
  const [one, two] = [new PromRegistry(), new PromRegistry()]
  one.counter('skein_things_total', 'Things.').value = 1
  two.counter('skein_things_total', 'Things.')
  expect(await two.text()).toContain('skein_things_total 0')
})

test('families are made when somebody scrapes, as long as they are wanted', async () => {
  const metrics = new PromRegistry()
  let value = 0
  const end = metrics.collect(() => [
    { name: 'a_total', help: 'A.', type: 'counter', labels: ['of'], samples: [{ labels: ['x'], value: ++value }] }
  ])
  expect(value).toBe(0)
  expect(await metrics.text()).toMatch(/\n# HELP a_total A\.\n# TYPE a_total counter\na_total\{of="x"\} 1\n$/)
  expect(await metrics.text()).toContain('a_total{of="x"} 2')
  end()
  expect(await metrics.text()).not.toContain('a_total')
  expect(value).toBe(2)
})

test('the text has counters, gauges and the process, each name once', async () => {
  const metrics = new PromRegistry()
  metrics.counter('skein_things_total', 'Things.').value = 3
  metrics.gauge('skein_level', 'Level.', () => 5)
  metrics.collect(() => [{ name: 'skein_level', help: 'Another.', type: 'gauge', labels: [], samples: [{ labels: [], value: 7 }] }])
  for (const text of await Promise.all([metrics.text(), metrics.text()])) {
    expect(text).toContain('\nskein_things_total 3\n')
    expect(text).toMatch(/\nprocess_cpu_seconds_total [\d.]+\n/)
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(text.match(/^skein_level .*$/gm)).toEqual(['skein_level 5'])
  }
})

test('a name that Prometheus would not read is an error', () => {
  const metrics = new PromRegistry()
  for (const name of ['', '1st', 'a-b', 'a b', 'ä']) expect(() => metrics.counter(name, 'A.')).toThrow('is no name of a metric')
  expect(() => metrics.gauge('a.b', 'A.', () => 1)).toThrow('"a.b" is no name of a metric')
})
