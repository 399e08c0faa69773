/** What replicas count, as it is told. */
import type { MetricFamily } from '../plugin.js'
import type { ReplicaNumbers } from '../store/etcd/replica-numbers.js'

type Told = readonly [name: string, type: 'counter' | 'gauge', help: string, read: (numbers: ReplicaNumbers) => number]

const TOLD: readonly Told[] = [
  ['skein_etcd_revision', 'gauge', 'The revision of etcd up to which the replica has all changes.', (n) => n.get('revision')],
  [
    'skein_etcd_lag',
    'gauge',
    'Revisions of etcd that the replica has not heard of, those of other keys too until etcd tells of its progress.',
    (n) => Math.max(0, n.get('cluster') - n.get('revision'))
  ],
  ['skein_etcd_events_total', 'counter', 'Changes of keys that etcd has told of.', (n) => n.get('events')],
  ['skein_etcd_lists_total', 'counter', 'Times that all keys were listed.', (n) => n.get('lists')],
  [
    'skein_etcd_connections_total',
    'counter',
    'Times that a connection to an endpoint was begun, whether it came about or not.',
    (n) => n.get('connections')
  ],
  ['skein_etcd_keys', 'gauge', 'Keys of etcd in the replica, the bad ones too.', (n) => n.get('keys')],
  ['skein_etcd_leased_keys', 'gauge', 'Keys that vanish unless somebody renews their lease.', (n) => n.get('lives')],
  ['skein_etcd_bad_keys', 'gauge', 'Keys that are left out of answers; `skein kv bad` lists them.', (n) => n.get('bad')],
  [
    'skein_etcd_last_contact_timestamp_seconds',
    'gauge',
    'When the cluster was reached last, in seconds since 1970.',
    (n) => n.get('contact') / 1000
  ],
  ['skein_etcd_stale', 'gauge', 'Whether the cluster cannot be reached, so that what is served may be old.', (n) => n.get('stale')]
]

/** The numbers of replicas, each with its folder; nothing where there are none. */
export function feedingNumbers(replicas: readonly (readonly [folder: string, numbers: ReplicaNumbers])[]): MetricFamily[] {
  if (replicas.length === 0) return []
  return TOLD.map(([name, type, help, read]) => ({
    name,
    help,
    type,
    labels: ['store'],
    samples: replicas.map(([folder, numbers]) => ({ labels: [folder], value: read(numbers) }))
  }))
}
