/** What the documentation says of the metrics of replicas, and of SkyDNS's, is what is told. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CAUSES, SkydnsTraffic, SYSTEMS } from '../plugins/metrics/skydns.js'
import { feedingNumbers } from '../src/process/feeding-metrics.js'
import { ReplicaNumbers } from '../src/store/etcd/replica-numbers.js'
import { root } from './rules/source-file.js'

const page = (path: string): string => readFileSync(join(root, path), 'utf8')
const told = feedingNumbers([['/data', new ReplicaNumbers()]])

test('the README of etcd-backend has the metrics of a replica, with their types, in order', () => {
  const [, table = ''] = page('plugins/etcd-backend/README.md').split('Those of replicas have the label')
  const rows = [...table.matchAll(/^\| `(skein_\w+)` +\| (\w+) +\|/gm)].map(([, name, type]) => [name, type])
  expect(told.length).toBeGreaterThan(5)
  expect(rows).toEqual(told.map(({ name, type }) => [name, type]))
})

test('docs/clusters.md watches metrics that there are', () => {
  const watched = new Set(page('docs/clusters.md').match(/\bskein_etcd_\w+/g))
  expect(watched.size).toBeGreaterThan(5)
  expect([...watched].filter((name) => !told.some((family) => family.name === name))).toEqual([])
})

test("the README of metrics has SkyDNS's metrics, with their types, labels and values, in order", () => {
  const [, tables = ''] = page('plugins/metrics/README.md').split("### SkyDNS's\n")
  const rows = [...tables.matchAll(/^\| `(skydns_\w+)` +\| (\w+) +\| (.*?) +\|/gm)].map(([, ...cells]) => cells)
  const told = new SkydnsTraffic('skydns_skydns').families()
  expect(rows).toEqual(told.map(({ name, type, labels }) => [name, type, labels.map((label) => `\`${label}\``).join(', ')]))
  const values = (label: string): string[] =>
    [...tables.matchAll(new RegExp(`^\\| \`${label}\` \`(\\w+)\``, 'gm'))].map(([, value]) => value!)
  expect([values('system').toSorted(), values('cause').toSorted(), values('cache')]).toEqual([
    SYSTEMS.toSorted(),
    CAUSES.toSorted(),
    ['response', 'signature']
  ])
})
