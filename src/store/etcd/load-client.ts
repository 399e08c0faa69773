import type { MakeEtcdClient } from './client.js'

/** What makes clients of a version of etcd's API: loaded when it is needed, as the packages for v3 take their time. */
export async function loadClient(version: 2 | 3): Promise<MakeEtcdClient> {
  return version === 3 ? (await import('./v3.js')).etcd3 : (await import('./v2.js')).etcd2
}
