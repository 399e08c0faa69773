import { request } from 'node:http'

/** Where calls go, in the terms of node:http. */
export type Target = { readonly host: string; readonly port: number } | { readonly socketPath: string }

/** A reply as it came. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Makes one call. */
export function call(target: Target, method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const length: Record<string, string | number> =
      body === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(body) }
    const sent = request({ ...target, method, path, headers: { ...length, ...headers }, agent: false }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(parts).toString() }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Makes the calls of a case below a directory of its own; gives the replies with what differs by place and time made alike. */
export async function replay(target: Target, steps: readonly string[], place: string): Promise<string[]> {
  const base = Number((await call(target, 'GET', `/v2/keys/${place}`)).headers['x-etcd-index'])
  const replies: string[] = []
  for (const step of steps) {
    const [, method = '', where = '', body] = /^(\S+) (\S+)(?: (.*))?$/.exec(step)!
    if (method === 'WAIT') {
      await new Promise((resolve) => setTimeout(resolve, Number(where)))
      continue
    }
    const path = where.startsWith('^') ? where.slice(1) : `/${place}${where}`
    const reply = await call(target, method, `/v2/keys${path}`, body)
    const index = Number(reply.headers['x-etcd-index'])
    // etcd gives none with some replies, and 0 where it looked at no key.
    replies.push(`${reply.status} ${index > 0 && reply.status !== 405 ? `+${index - base}` : '-'} ${alike(reply, place, base)}`)
  }
  return replies
}

function alike(reply: Reply, place: string, base: number): string {
  if (!reply.text.startsWith('{') || reply.status === 405) return ''
  return JSON.stringify(JSON.parse(reply.text), (name, value: unknown) => {
    if (name === 'modifiedIndex' || name === 'createdIndex' || name === 'index') return value === 0 ? 0 : `+${(value as number) - base}`
    if ((name === 'key' || name === 'cause') && typeof value === 'string') return value.replaceAll(`/${place}`, '') || '/'
    if (name === 'expiration') return Number.isNaN(Date.parse(value as string)) ? value : 'a time'
    // etcd lists in no order unless asked; whether it is asked shows in the cases that say so.
    if (name === 'nodes') return [...(value as { key: string }[])].sort((one, other) => (one.key < other.key ? -1 : 1))
    return value
  })
}
