/** All SkyDNS cases by `skein skydns`, started with SkyDNS's flags and its stored object, over UDP and TCP, before a real Unbound and NSD. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kv } from '../src/process/kv.js'
import { skein, start } from './command.js'
import { failuresAmong } from './conformance-asking.js'
import { type CaseFile, caseFiles } from './conformance-cases.js'
import { type DnsClient, openClient } from './dns-client.js'
import { type Etcd, startEtcd } from './etcd.js'
import { freePort, type Running, temporaryFolder } from './processes.js'
import { type Entries, embeddedStore, etcd2Store, etcd3Store, hasMark, markOf, type SkydnsStore, startSkydns } from './skydns-command.js'
import { needs } from './tools.js'
import { startUpstream, type Upstream } from './upstream.js'

const files = [...caseFiles('skydns'), ...caseFiles('skydns-golden')]
const configs = [...new Set(files.map(({ config }) => JSON.stringify(config)))]
const count = files.reduce((sum, { cases }) => sum + cases.length, 0)

test(`the ${count} cases are all there, and each fits etcd v2: no key with a value has keys below it, none is hidden`, () => {
  expect(count).toBe(1433)
  const paths = files.flatMap(({ path, services }) => Object.keys(services).map((key) => [path, key] as const))
  const above = paths.filter(([path, key]) => paths.some(([other, below]) => other === path && below.startsWith(`${key}/`)))
  expect(above).toEqual([])
  expect(paths.filter(([, key]) => key.includes('/_') || key.startsWith('/skydns/arpa/in-addr/203'))).toEqual([])
})

describe('served by', needs('etcd', 'unbound', 'nsd', 'dig'), () => {
  let etcd: Etcd
  let upstream: Upstream
  const folder = temporaryFolder()
  beforeAll(async () => {
    ;[etcd, upstream] = await Promise.all([startEtcd(), startUpstream()])
  })
  afterAll(async () => {
    await Promise.all([etcd?.stop(), upstream?.stop()])
    folder.remove()
  })

  describe.each<[string, (cwd: string, name: string) => SkydnsStore, Way]>([
    ['the command, from the embedded store', embeddedStore, startSkydns],
    ['the Corefile that it prints, from the embedded store', embeddedStore, startPrinted],
    ['the command, from etcd v3', () => etcd3Store(etcd), startSkydns],
    ['the command, from etcd v2', () => etcd2Store(etcd), startSkydns]
  ])(`%s, all ${count} cases`, (title, storeOf, way) => {
    const servers = new Map<string, Served>()
    beforeAll(async () => {
      const cwd = join(folder.path, title.replaceAll(/\W/g, '-'))
      mkdirSync(cwd)
      const started = configs.map(async (config, index) => {
        servers.set(config, await serve({ config, name: `${title.split(' ').at(-1)}${index}`, storeOf, way, cwd, upstream }))
      })
      await Promise.all(started)
    }, 60_000)
    afterAll(async () => {
      await Promise.all([...servers.values()].map((served) => served.stop()))
    })

    test.each(files.map((file, index) => [file.path, file, index] as const))('answers %s', async (_path, file, index) => {
      const failures = await servers.get(JSON.stringify(file.config))!.failuresOf(file, index)
      expect(failures, failures.join('\n')).toEqual([])
    })
  })
})

/** Starts a server that has been told all this. */
type Way = (args: readonly string[], cwd: string) => Promise<Running>

async function startPrinted(args: readonly string[], cwd: string): Promise<Running> {
  const { code, out, err } = await skein(['skydns', '--print-corefile', ...args], cwd)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const file = join(cwd, `Corefile.${args.join().length}.${Math.random()}`)
  writeFileSync(file, out)
  return start(cwd, ['-conf', file])
}

/** A server with a configuration of its own. */
interface Served {
  /** Has it serve what a file has; a line or more for each case that is answered wrongly. */
  failuresOf(file: CaseFile, index: number): Promise<string[]>
  stop(): Promise<void>
}

interface Asked {
  readonly config: string
  /** Of its store, and of the path in it. */
  readonly name: string
  readonly storeOf: (cwd: string, name: string) => SkydnsStore
  readonly way: Way
  readonly cwd: string
  readonly upstream: Upstream
}

async function serve({ config, name, storeOf, way, cwd, upstream }: Asked): Promise<Served> {
  const store = storeOf(cwd, name)
  const top = `/${name}`
  await configure(store, cwd, name, config)
  const port = await freePort()
  const nameservers = `-nameservers=${upstream.address}:${upstream.port}`
  const server = await way([...store.flags, `-path-prefix=${name}`, `-addr=127.0.0.1:${port}`, nameservers], cwd)
  const clients: DnsClient[] = []
  for (const transport of ['udp', 'tcp'] as const) clients.push(await openClient(transport, { address: '127.0.0.1', port }))
  return {
    async failuresOf({ services, cases }, index) {
      const entries: Entries = Object.entries(services).map(([key, value]) => [key.replace(/^\/skydns/, top), JSON.stringify(value)])
      await store.replace(top, entries)
      await store.put(...markOf(top, index))
      await hasMark(clients[0]!, index, server)
      const failures: string[] = []
      for (const client of clients) failures.push(...(await failuresAmong(cases, (request) => client.ask(request))))
      return [...failures, ...server.output().split('\n').filter(isFault)]
    },
    async stop() {
      for (const client of clients) client.close()
      await server.stop()
    }
  }
}

/** Puts the object that the command reads at its start. */
async function configure(store: SkydnsStore, cwd: string, name: string, config: string): Promise<void> {
  const isEmbedded = store.flags[0]!.startsWith('-embedded')
  if (isEmbedded) await kv(['put', '-store', join(cwd, name), `/${name}/config`, config])
  else await store.replace(`/${name}`, [[`/${name}/config`, config]])
}

function isFault(line: string): boolean {
  return line.includes('a plugin failed')
}
