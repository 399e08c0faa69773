/** A server that follows an etcd, asked all the time, and what it may say. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAnswer, requestOctets } from '../src/testing.js'
import { skein, start } from './command.js'
import type { EtcdTarget } from './etcd-calls.js'
import { etcdV2, etcdV3 } from './etcd-calls.js'
import { freePort, type Running, temporaryFolder } from './processes.js'

/** A server whose store an etcd feeds. */
export interface Following {
  readonly server: Running
  readonly port: number
  readonly cwd: string
  /** What its replica has, by path. */
  content(): Promise<Map<string, string>>
  /** The numbers of a metric, without those of the text; undefined where there is none. */
  metric(name: string): Promise<number | undefined>
  /** What `ready` says: its status and its text. */
  ready(): Promise<{ readonly status: number; readonly text: string }>
  /** Writes the Corefile with these lines of `etcd` in place of those of before, and has it read. */
  reload(lines: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** How it is started. */
export interface FollowingOptions {
  /** What stands in the directive besides where the replica is: `endpoint …`. */
  readonly lines: readonly string[]
  /** Threads that answer. */
  readonly threads?: number
  /** Where it runs: the replica of before is in it. */
  readonly cwd?: string
}

const ZONE = 'skydns.test'

/** Starts a server for skydns.test. */
export async function follow({ lines, threads = 1, cwd }: FollowingOptions): Promise<Following> {
  const folder = cwd === undefined ? temporaryFolder() : undefined
  const at = cwd ?? folder!.path
  const [port, metrics, api, ready] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const corefile = (etcd: readonly string[]): string =>
    [
      `${ZONE}:${port} {`,
      '  bind 127.0.0.1',
      `  multisocket ${threads}`,
      `  prometheus 127.0.0.1:${metrics}`,
      `  ready 127.0.0.1:${ready} {`,
      '    monitor continuously',
      '  }',
      '  cache',
      '  etcd {',
      `    store replica`,
      `    api 127.0.0.1:${api}`,
      ...etcd.map((line) => `    ${line}`),
      '  }',
      '}',
      ''
    ].join('\n')
  writeFileSync(join(at, 'Corefile'), corefile(lines))
  const server = await start(at)
  return {
    server,
    port,
    cwd: at,
    async content() {
      const { status, text } = await fetched(api, '/v2/keys/skydns?recursive=true')
      const found = new Map<string, string>()
      if (status === 200) collect((JSON.parse(text) as { node: Node }).node, found)
      return found
    },
    async metric(name) {
      const { text } = await fetched(metrics, '/metrics')
      const line = text.split('\n').find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`))
      return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
    },
    ready: () => fetched(ready, '/ready'),
    async reload(etcd) {
      writeFileSync(join(at, 'Corefile'), corefile(etcd))
      const { code, err } = await skein(['reload'], at)
      if (code !== 0) throw new Error(err)
    },
    async stop() {
      await server.stop()
      folder?.remove()
    }
  }
}

interface Node {
  readonly key: string
  readonly value?: string
  readonly nodes?: readonly Node[]
}

function collect(node: Node, found: Map<string, string>): void {
  if (node.value !== undefined) found.set(node.key, node.value)
  for (const each of node.nodes ?? []) collect(each, found)
}

function fetched(port: number, path: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    asked.on('error', reject)
  })
}

/** Waits until the replica has what etcd has below /skydns/ in this version of its API, no more and no less. */
export async function inStep(
  following: Following,
  target: EtcdTarget,
  { version = 3, withinMs = 20_000 }: InStepOptions = {}
): Promise<void> {
  let difference = ''
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(50)) {
    // A member that was frozen refuses until it knows who leads.
    const wanted = await (version === 3 ? keysOfV3(target) : keysOfV2(target)).catch((error: unknown) => String(error))
    difference = typeof wanted === 'string' ? wanted : await differenceOf(following, wanted)
    if (difference === '') return
  }
  throw new Error(`the replica differs from etcd after ${withinMs} ms: ${difference}\n${following.server.output().slice(-3000)}`)
}

interface InStepOptions {
  readonly version?: 2 | 3
  readonly withinMs?: number
}

async function keysOfV3(target: EtcdTarget): Promise<Map<string, string>> {
  return new Map((await etcdV3(target).range('/skydns/', 'prefix')).map(({ key, value }) => [key, value]))
}

async function keysOfV2(target: EtcdTarget): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  try {
    collect(await etcdV2(target).list('/skydns'), found)
  } catch (error) {
    if (!String(error).includes('Key not found')) throw error
  }
  return found
}

async function differenceOf(following: Following, wanted: ReadonlyMap<string, string>): Promise<string> {
  const found = await following.content()
  for (const [key, value] of wanted) if (found.get(key) !== value) return `${key} is ${found.get(key)} and should be ${value}`
  for (const key of found.keys()) if (!wanted.has(key)) return `${key} should not be there`
  return ''
}

/** One answer: of which version, or what else it was. */
interface Heard {
  readonly name: string
  readonly sent: number
  readonly received: number
  /** NXDOMAIN is `0`; an answer that no version gives is a text. */
  readonly version: number | string
  readonly ttl: number
}

const EVERY_MS = 4
const TIMEOUT_MS = 1500

/**
 * Names whose two keys always have the same address, that of their version, and somebody who asks for them all the time. An answer with
 * two addresses is half a change. With v2, which changes one key at a time, each has one key.
 */
export class Witness {
  readonly names: readonly string[]
  readonly #api: 2 | 3
  /** For each name when which version was begun to be written; 0: deleted. */
  readonly #written = new Map<string, { readonly version: number; readonly at: number }[]>()
  readonly #heard: Heard[] = []
  readonly #waiting = new Map<number, { readonly name: string; readonly sent: number }>()
  readonly #failed: string[] = []
  readonly #socket: Socket
  #timer: NodeJS.Timeout | undefined
  #next = 0
  #version = 0

  /** Asks the server on that port, from now on. */
  static async start(port: number, api: 2 | 3 = 3, count = 8): Promise<Witness> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 })
    socket.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Witness(socket, api, count)
  }

  private constructor(socket: Socket, api: 2 | 3, count: number) {
    this.#api = api
    this.names = Array.from({ length: count }, (_, index) => `n${index}`)
    this.#socket = socket
    socket.on('message', (octets: Buffer) => this.#hear(octets))
    socket.on('error', (error) => this.#failed.push(String(error)))
  }

  /**
   * Writes another version of a name, both keys in one transaction; resolves with the version when etcd has it. A cluster without a
   * leader refuses for a while, and may have it all the same.
   */
  async write(target: EtcdTarget, name = this.names[this.#version % this.names.length]!): Promise<number> {
    for (let tries = 1; ; tries++) {
      const version = ++this.#version
      this.#note(name, version)
      const value = JSON.stringify({ host: addressOf(version) })
      try {
        const path = `/skydns/test/skydns/${name}`
        if (this.#api === 2) await etcdV2(target).put(`${path}/a`, value)
        else await etcdV3(target).putAll(['a', 'b'].map((key) => [`${path}/${key}`, value] as const))
        return version
      } catch (error) {
        if (tries === 10) throw error
        await sleep(200)
      }
    }
  }

  async writeAll(target: EtcdTarget): Promise<void> {
    for (const name of this.names) await this.write(target, name)
  }

  /** Says that all names have gone, or will in this moment. */
  wiped(): void {
    for (const name of this.names) this.#note(name, 0)
  }

  /** Says that names may have again what they had before. */
  restored(): void {
    for (const [name, written] of this.#written) for (const { version } of Array.from(written)) this.#note(name, version)
  }

  #note(name: string, version: number): void {
    const written = this.#written.get(name) ?? []
    written.push({ version, at: Date.now() })
    this.#written.set(name, written)
  }

  /** Begins to ask. */
  ask(): void {
    this.#timer = setInterval(() => {
      const name = this.names[this.#next % this.names.length]!
      const id = this.#next++ & 0xffff
      const late = this.#waiting.get(id)
      if (late !== undefined) this.#failed.push(`no answer for ${late.name}`)
      this.#waiting.set(id, { name, sent: Date.now() })
      this.#socket.send(requestOctets(`${name}.${ZONE} A`, { id }))
    }, EVERY_MS)
  }

  /** The version that a name is answered with now. */
  async now(name: string): Promise<number | string> {
    const seen = this.#heard.length
    for (;;) {
      const heard = this.#heard.slice(seen).findLast((each) => each.name === name)
      if (heard !== undefined) return heard.version
      await sleep(1)
    }
  }

  /** Sees that each name is answered with the version that etcd has, in both threads. */
  async isCurrent(target: EtcdTarget): Promise<string[]> {
    const keys = this.#api === 3 ? await keysOfV3(target) : await keysOfV2(target)
    const wrong: string[] = []
    for (const name of this.names) {
      const value = keys.get(`/skydns/test/skydns/${name}/a`)
      const wanted = value === undefined ? 0 : versionOfAddress((JSON.parse(value) as { host: string }).host)
      // Several answers, as each thread has a cache of its own.
      for (let asked = 0; asked < 4; asked++) {
        const version = await this.now(name)
        if (version !== wanted) wrong.push(`${name}: version ${version}, where etcd has ${wanted}`)
      }
    }
    return wrong
  }

  /** The largest TTL heard since a time. */
  ttlSince(time: number): number {
    return Math.max(...this.#heard.filter(({ sent }) => sent >= time).map(({ ttl }) => ttl))
  }

  #hear(octets: Buffer): void {
    const id = octets.readUInt16BE(0)
    const asked = this.#waiting.get(id)
    if (asked === undefined) return
    this.#waiting.delete(id)
    const { rcode, answer } = readAnswer(octets)
    const received = Date.now()
    if (received - asked.sent > TIMEOUT_MS) this.#failed.push(`${asked.name}: the answer took ${received - asked.sent} ms`)
    const ttl = Number(answer[0]?.split(' ')[1] ?? 0)
    this.#heard.push({ ...asked, received, version: versionOf(rcode, answer), ttl })
  }

  /** Stops asking; gives how many questions were asked, and what was wrong with the answers. */
  async end(): Promise<{ readonly asked: number; readonly failed: readonly string[] }> {
    clearInterval(this.#timer)
    await sleep(TIMEOUT_MS)
    this.#socket.close()
    for (const { name } of this.#waiting.values()) this.#failed.push(`no answer for ${name}`)
    for (const heard of this.#heard) {
      const wrong = this.#wrong(heard)
      if (wrong !== undefined) this.#failed.push(wrong)
    }
    return { asked: this.#next, failed: this.#failed }
  }

  #wrong({ name, received, version }: Heard): string | undefined {
    if (typeof version === 'string') return `${name}: ${version}`
    const isHeld = (this.#written.get(name) ?? []).some((each) => each.version === version && each.at <= received)
    return isHeld ? undefined : `${name}: version ${version}, which etcd never had until then`
  }
}

function addressOf(version: number): string {
  return `10.${version >> 16}.${(version >> 8) & 0xff}.${version & 0xff}`
}

function versionOf(rcode: string, answer: readonly string[]): number | string {
  if (rcode === 'NXDOMAIN') return 0
  if (rcode !== 'NOERROR' || answer.length !== 1) return `${rcode} ${answer.join(', ')}`
  return versionOfAddress(answer[0]!.split(' ').at(-1)!)
}

function versionOfAddress(address: string): number {
  const [, high = 0, middle = 0, low = 0] = address.split('.').map(Number)
  return (high << 16) | (middle << 8) | low
}
