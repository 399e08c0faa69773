/** The etcd cluster that feeds a store, as configured. Plain: it is sent to the thread of the feeder. */
export interface EtcdSource {
  /** Of etcd's API: the keys of one version are not seen by the other. */
  readonly version: 2 | 3
  /** `http://HOST:PORT` or `https://HOST:PORT`, all of one scheme; an IPv6 address stands in brackets. */
  readonly endpoints: readonly string[]
  /** What is fed: the keys below this path, such as `/skydns`. */
  readonly path: string
  readonly credentials: { readonly user: string; readonly password: string } | undefined
  readonly tls: EtcdTls | undefined
  /** How long keys with a lease stay where the cluster cannot be reached, in milliseconds. */
  readonly expireMs: number
}

/** PEM texts. */
export interface EtcdTls {
  /** The authorities that may have signed the servers' certificates; those of the system where left out. */
  readonly authority?: string | undefined
  /** The client's certificate and key: both or none. */
  readonly certificate?: string | undefined
  readonly key?: string | undefined
}
