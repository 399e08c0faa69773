/** `skein skydns` for tests that start it as operators of SkyDNS do, and the ways to what its store has. */
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAnswer, requestOctets } from 'skein/testing'
import { expect } from 'vitest'
import { askStore, octetsOf } from '../src/process/kv-client.js'
import type { KvArguments, Verb } from '../src/process/kv-verbs.js'
import { MAIN } from './command.js'
import type { DnsClient } from './dns-client.js'
import type { Etcd } from './etcd.js'
import { etcdV2, etcdV3 } from './etcd-calls.js'
import { type Running, startProcess } from './processes.js'

/** Keys and their values. */
export type Entries = readonly (readonly [path: string, value: string])[]

/** Starts the command, and waits until it says that it runs. */
export function startSkydns(args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<Running> {
  return startProcess(process.execPath, [MAIN, 'skydns', ...args], { cwd, env, ready: /stop: Ctrl-C/, readyWithinMs: 20_000 })
}

/** A store that the command is started with. */
export interface SkydnsStore {
  /** What says where it is. */
  readonly flags: readonly string[]
  /** Puts these in place of all that is below the path. */
  replace(top: string, entries: Entries): Promise<void>
  put(path: string, value: string): Promise<unknown>
}

/** The embedded store in a folder below `cwd`; `replace` is for while it is served. */
export function embeddedStore(cwd: string, name: string): SkydnsStore {
  const folder = join(cwd, name)
  return {
    flags: [`-embedded=${name}`, '-api=off'],
    async replace(top, entries) {
      await control(folder, 'del', { key: top, recursive: true }).catch((error: Error) => expect(error.message).toContain('no key'))
      await control(folder, 'import', {}, entries.map(([key, value]) => JSON.stringify({ key, value })).join('\n'))
    },
    put: (key, value) => control(folder, 'put', { key }, value)
  }
}

/** A real etcd, by its API of version 3. */
export function etcd3Store({ target, endpoints }: Etcd): SkydnsStore {
  return {
    flags: [`-machines=${endpoints.join()}`, '-etcd3'],
    async replace(top, entries) {
      await etcdV3(target).delete(`${top}/`, 'prefix')
      await etcdV3(target).putAll(entries)
    },
    put: (key, value) => etcdV3(target).put(key, value)
  }
}

/** By its API of version 2. */
export function etcd2Store({ target, endpoints }: Etcd): SkydnsStore {
  return {
    flags: [`-machines=${endpoints.join()}`],
    async replace(top, entries) {
      await etcdV2(target)
        .delete(top, '?recursive=true')
        .catch((error: Error) => expect(error.message).toContain('"errorCode":100'))
      await etcdV2(target).putAll(entries)
    },
    put: (key, value) => etcdV2(target).put(key, value)
  }
}

/** Asks the server of a folder at its control socket, as `skein kv` does. */
async function control(folder: string, verb: Verb, asked: KvArguments, body = ''): Promise<string> {
  const call = { verb, asked, input: Readable.from([Buffer.from(body)]), silentMs: 10_000 }
  return (await askStore(folder, call, octetsOf)).toString('utf8')
}

/** Where the name of an address stands, which no case asks for: who has it, written last, has all. */
export function markOf(prefix: string, index: number): readonly [path: string, value: string] {
  return [`${prefix}/arpa/in-addr/203/0/113/${index}`, '{"host":"mark.test"}']
}

/** Resolves when a server answers with the mark. */
export async function hasMark(client: DnsClient, index: number, server: Running): Promise<void> {
  const asked = requestOctets(`${index}.113.0.203.in-addr.arpa. PTR`)
  for (const deadline = Date.now() + 10_000; ; await sleep(2)) {
    const { answer, flags } = readAnswer(await client.ask(asked))
    if (answer.length > 0 && !flags.includes('aa')) return
    if (Date.now() > deadline) throw new Error(`the server has no mark of file ${index} within 10 s:\n${server.output()}`)
  }
}
