import { Agent, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

/** An etcd that tests call, without the code under test. */
export interface EtcdTarget {
  /** `http://HOST:PORT` or `https://HOST:PORT`. */
  readonly endpoint: string
  /** PEM texts, for https. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string } | undefined
  readonly credentials?: { readonly user: string; readonly password: string } | undefined
}

/** What etcd said to a call. */
export interface EtcdSaid {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

const root = { user: 'root', password: 'of all' }

/** Makes a call, with a whole new connection unless an agent keeps some. */
export function callEtcd(
  target: EtcdTarget,
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
  agent: Agent | false = false
): Promise<EtcdSaid> {
  return new Promise((resolve, reject) => {
    const url = new URL(path, target.endpoint)
    const options = { method, headers, agent, timeout: 10_000, ...target.tls }
    const asked = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
    asked.on('error', reject)
    asked.on('timeout', () => asked.destroy(new Error(`no answer from ${url.href} within 10 s`)))
    asked.on('response', (reply) => {
      let text = ''
      reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      reply.on('error', reject).on('end', () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text }))
    })
    asked.end(body)
  })
}

/** A key as v3 has it. */
export interface EtcdKeyValue {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  readonly modRevision: number
  readonly lease: string
}

/** Calls of the v3 API, by the JSON gateway of etcd. They throw what etcd says where it refuses. */
export function etcdV3(target: EtcdTarget) {
  let token: Promise<string> | undefined
  const call = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const { status, text } = await callEtcd(target, 'POST', `/v3/${path}`, JSON.stringify(body), headers)
    if (status !== 200) throw new Error(`etcd said ${status} to ${path}: ${text}`)
    return JSON.parse(text) as Answer
  }
  const authorized = async (path: string, body: unknown): Promise<Answer> => {
    if (target.credentials === undefined) return call(path, body)
    const { user, password } = target.credentials
    token ??= call('auth/authenticate', { name: user, password }).then((said) => said.token ?? '')
    return call(path, body, { authorization: await token })
  }
  return {
    /** Any call, by its path below `/v3/`. */
    call: authorized,
    /** Sets a key, on a lease where one is given; the revision. */
    async put(key: string | Buffer, value: string | Buffer, lease?: string): Promise<number> {
      return revisionOf(await authorized('kv/put', { key: base64(key), value: base64(value), ...(lease !== undefined && { lease }) }))
    },
    /** Sets many keys in transactions of 100, so that it goes fast; the last revision. */
    async putAll(entries: readonly (readonly [key: string, value: string])[]): Promise<number> {
      let revision = 0
      for (let from = 0; from < entries.length; from += 100) {
        const success = entries.slice(from, from + 100).map(([key, value]) => ({ requestPut: { key: base64(key), value: base64(value) } }))
        revision = revisionOf(await authorized('kv/txn', { success }))
      }
      return revision
    },
    /** The key, or all that begin so. */
    async range(key: string | Buffer, how: 'key' | 'prefix' = 'key'): Promise<EtcdKeyValue[]> {
      const { kvs = [] } = await authorized('kv/range', { key: base64(key), ...(how === 'prefix' && { rangeEnd: base64(prefixEnd(key)) }) })
      return kvs.map((each) => ({
        key: Buffer.from(each.key, 'base64').toString(),
        value: Buffer.from(each.value ?? '', 'base64').toString(),
        createRevision: Number(each.create_revision),
        modRevision: Number(each.mod_revision),
        lease: each.lease ?? '0'
      }))
    },
    /** Deletes the key, or all that begin so; how many. */
    async delete(key: string | Buffer, how: 'key' | 'prefix' = 'key'): Promise<number> {
      const said = await authorized('kv/deleterange', { key: base64(key), ...(how === 'prefix' && { rangeEnd: base64(prefixEnd(key)) }) })
      return Number(said.deleted ?? 0)
    },
    /** A new lease of so many seconds; its ID. */
    async grant(ttl: number): Promise<string> {
      return (await authorized('lease/grant', { TTL: String(ttl) })).ID ?? ''
    },
    async keepAlive(lease: string): Promise<void> {
      await authorized('lease/keepalive', { ID: lease })
    },
    async revoke(lease: string): Promise<void> {
      await authorized('lease/revoke', { ID: lease })
    },
    async revision(): Promise<number> {
      return revisionOf(await authorized('kv/range', { key: base64('\0'), countOnly: true }))
    },
    /** Throws away the history before this revision. */
    async compact(revision: number): Promise<void> {
      await authorized('kv/compaction', { revision: String(revision), physical: true })
    }
  }
}

/** Turns v3's authentication on, with a user that may do all below the prefix; gives root's credentials. */
export async function enableAuthV3(target: EtcdTarget, user: string, password: string, prefix: string): Promise<typeof root> {
  const { call } = etcdV3(target)
  await call('auth/role/add', { name: 'root' })
  await call('auth/user/add', { name: root.user, password: root.password })
  await call('auth/user/grant', { user: 'root', role: 'root' })
  await call('auth/role/add', { name: 'some' })
  const perm = { permType: 'READWRITE', key: base64(prefix), range_end: base64(prefixEnd(prefix)) }
  await call('auth/role/grant', { name: 'some', perm })
  await call('auth/user/add', { name: user, password })
  await call('auth/user/grant', { user, role: 'some' })
  await call('auth/enable', {})
  return root
}

/** A node as v2 has it. */
export interface EtcdNodeV2 {
  readonly key: string
  readonly value?: string
  readonly dir?: boolean
  readonly ttl?: number
  readonly nodes?: readonly EtcdNodeV2[]
  readonly modifiedIndex: number
}

/** Calls of the v2 API. Paths are those of keys, unescaped; they throw what etcd says where it refuses. */
export function etcdV2(target: EtcdTarget) {
  const call = async (
    method: string,
    path: string,
    form: Record<string, string> = {},
    query = '',
    agent: Agent | false = false
  ): Promise<EtcdNodeV2 & { index: number }> => {
    const body = method === 'PUT' ? new URLSearchParams(form).toString() : undefined
    const headers = { ...basic(target), ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }) }
    const escaped = path.split('/').map(encodeURIComponent).join('/')
    const said = await callEtcd(target, method, `/v2/keys${escaped}${query}`, body, headers, agent)
    if (said.status >= 300) throw new Error(`etcd said ${said.status} to ${method} ${path}: ${said.text}`)
    return { ...(JSON.parse(said.text) as { node: EtcdNodeV2 }).node, index: Number(said.headers['x-etcd-index']) }
  }
  return {
    /** Sets a key; the node, and the index that it has made. */
    put: (path: string, value: string, ttl?: number) => call('PUT', path, { value, ...(ttl !== undefined && { ttl: String(ttl) }) }),
    /** Sets the key so many times, some at once: the last index. */
    async putOften(path: string, times: number): Promise<number> {
      let [left, last] = [times, 0]
      const some = async (): Promise<void> => {
        while (left-- > 0) {
          const { index } = await call('PUT', path, { value: String(left) })
          last = Math.max(last, index)
        }
      }
      await Promise.all(Array.from({ length: 20 }, some))
      return last
    },
    /** Sets many keys, some at once over connections that stay: the last index. */
    async putAll(entries: readonly (readonly [path: string, value: string])[]): Promise<number> {
      const agent = new Agent({ keepAlive: true, maxSockets: 8 })
      try {
        const nodes = await Promise.all(entries.map(([path, value]) => call('PUT', path, { value }, '', agent)))
        return Math.max(0, ...nodes.map(({ index }) => index))
      } finally {
        agent.destroy()
      }
    },
    /** Sets it by one of the conditions of the API, such as `{ prevExist: 'false' }`. */
    putIf: (path: string, value: string, condition: Record<string, string>) => call('PUT', path, { value, ...condition }),
    delete: (path: string, query: '' | '?recursive=true' | '?dir=true' | `?prevValue=${string}` = '') => call('DELETE', path, {}, query),
    /** Renews a time to live, of which no watcher is told. */
    refresh: (path: string, ttl: number) => call('PUT', path, { ttl: String(ttl), refresh: 'true', prevExist: 'true' }),
    mkdir: (path: string, ttl?: number) => call('PUT', path, { dir: 'true', ...(ttl !== undefined && { ttl: String(ttl) }) }),
    /** Gives a directory that is there another time to live, or none with ''. */
    renewDirectory: (path: string, ttl: number | '') => call('PUT', path, { dir: 'true', prevExist: 'true', ttl: String(ttl) }),
    list: (path: string) => call('GET', path, {}, '?recursive=true&sorted=true&quorum=true')
  }
}

/** Turns v2's authentication on, with a user that may do all below the path, and guests nothing; gives root's credentials. */
export async function enableAuthV2(target: EtcdTarget, user: string, password: string, path: string): Promise<typeof root> {
  const put = async (what: string, body: unknown, by: EtcdTarget = target): Promise<void> => {
    const said = await callEtcd(by, 'PUT', `/v2/auth/${what}`, JSON.stringify(body), { ...basic(by), 'content-type': 'application/json' })
    if (said.status >= 300) throw new Error(`etcd said ${said.status} to ${what}: ${said.text}`)
  }
  const all = { kv: { read: ['/*'], write: ['/*'] } }
  await put('users/root', root)
  await put('roles/some', { role: 'some', permissions: { kv: { read: [`${path}*`], write: [`${path}*`] } } })
  await put(`users/${user}`, { user, password, roles: ['some'] })
  await put('enable', {})
  await put('roles/guest', { role: 'guest', revoke: all }, { ...target, credentials: root })
  return root
}

interface Answer {
  readonly header?: { readonly revision?: string }
  readonly token?: string
  readonly ID?: string
  readonly deleted?: string
  readonly kvs?: readonly { key: string; value?: string; create_revision: string; mod_revision: string; lease?: string }[]
  /** What a stream says, such as that of lease/keepalive. */
  readonly result?: unknown
}

function basic({ credentials }: EtcdTarget): Record<string, string> {
  if (credentials === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}` }
}

function revisionOf(said: Answer): number {
  return Number(said.header?.revision)
}

function base64(octets: string | Buffer): string {
  return Buffer.from(octets as string).toString('base64')
}

/** The first key behind all that begin so, where the prefix does not end with octet 255. */
function prefixEnd(prefix: string | Buffer): Buffer {
  const end = Buffer.from(prefix as string)
  end[end.length - 1]! += 1
  return end
}
