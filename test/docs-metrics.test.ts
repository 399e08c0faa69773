/** What the documentation says of the metrics of replicas is what is told. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
