/** All SkyDNS cases once more, over UDP, by a server that is fed by a real etcd: each file’s services take the place of those before. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAnswer, requestOctets } from 'skein/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { start } from './command.js'
import { failuresAmong } from './conformance-asking.js'
import { type CaseFile, caseFiles, corefileOf } from './conformance-cases.js'
import { openClient } from './dns-client.js'
import { type Etcd, startEtcd } from './etcd.js'
import { etcdV2, etcdV3 } from './etcd-calls.js'
import { freePort, type Running, temporaryFolder } from './processes.js'
import { needs } from './tools.js'
import { startStandIn, type Upstream } from './upstream.js'

/** Puts these in place of all that is there. */
type Write = (entries: readonly (readonly [path: string, value: string])[]) => Promise<unknown>

const files = [...caseFiles('skydns'), ...caseFiles('skydns-golden')]
const count = files.reduce((sum, { cases }) => sum + cases.length, 0)
const TOP = '/cases'
/** Tells of the file whose services the server has: written last. */
const MARK_ZONE = 'mark.test.'

test(`the ${count} cases are all there, and each fits etcd v2: no key with a value has keys below it, none is hidden`, () => {
  expect(count).toBe(1433)
  const paths = files.flatMap(({ path, services }) => Object.keys(services).map((key) => [path, key] as const))
  const above = paths.filter(([path, key]) => paths.some(([other, below]) => other === path && below.startsWith(`${key}/`)))
  expect(above).toEqual([])
  expect(paths.filter(([, key]) => key.includes('/_'))).toEqual([])
})

describe('fed by etcd', needs('etcd'), () => {
  let etcd: Etcd
  let upstream: Upstream
  beforeAll(async () => {
    ;[etcd, upstream] = await Promise.all([startEtcd(), startStandIn()])
  })
  afterAll(async () => {
    await Promise.all([etcd?.stop(), upstream?.stop()])
  })

  describe.each([
    ['v3', (): Write => writeV3(etcd)],
    ['v2', (): Write => writeV2(etcd)]
  ] as const)(`%s, all ${count} cases`, (version, writer) => {
    let served: Served
    beforeAll(async () => {
      served = await serveAll(etcd, version, upstream)
    })
    afterAll(() => served?.stop())

    test.each(files.map((file, index) => [file.path, file, index] as const))('answers %s', async (_path, file, index) => {
      const entries = Object.entries(file.services).map(([key, value]) => [below(key), JSON.stringify(value)] as const)
      await writer()(entries)
      await writeMark(etcd, version, index)
      await served.hasMark(index)
      const failures = await served.failuresOf(file)
      expect(failures, failures.join('\n')).toEqual([])
    })
  })
})

function below(key: string): string {
  return key.replace(/^\/skydns/, TOP)
}

const writeV3 =
  ({ target }: Etcd): Write =>
  async (entries) => {
    await etcdV3(target).delete(`${TOP}/`, 'prefix')
    await etcdV3(target).putAll(entries)
  }

const writeV2 =
  ({ target }: Etcd): Write =>
  async (entries) => {
    await etcdV2(target)
      .delete(TOP, '?recursive=true')
      .catch((error: Error) => expect(error.message).toContain('"errorCode":100'))
    await etcdV2(target).putAll(entries)
  }

async function writeMark({ target }: Etcd, version: 'v2' | 'v3', index: number): Promise<void> {
  const [path, value] = [`${TOP}/test/mark/${index}`, '{"text":"here"}']
  await (version === 'v3' ? etcdV3(target).put(path, value) : etcdV2(target).put(path, value))
}

/** A server with a port for each configuration that files have, all fed by the same replica. */
interface Served {
  /** Resolves when it has the mark of that file. */
  hasMark(index: number): Promise<void>
  /** A line or more for each case that is answered wrongly. */
  failuresOf(file: CaseFile): Promise<string[]>
  stop(): Promise<void>
}

async function serveAll(etcd: Etcd, version: 'v2' | 'v3', upstream: Upstream): Promise<Served> {
  const ports = new Map<string, number>()
  for (const { config } of [...files, MARK]) ports.set(JSON.stringify(config), await freePort())
  const store = ['store replica', `path ${TOP}`, `endpoint ${etcd.endpoints.join(' ')}`, `version ${version.slice(1)}`]
  const where = `${upstream.address}:${upstream.port}`
  const blocks = [...ports].map(([config, port]) => corefileOf({ config: JSON.parse(config) }, where, { port, store }))
  const folder = temporaryFolder()
  const cwd = join(folder.path, version)
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'Corefile'), blocks.join(''))
  const server: Running = await start(cwd)
  const at = ({ config }: Pick<CaseFile, 'config'>) => ({ address: '127.0.0.1', port: ports.get(JSON.stringify(config))! })
  const marks = await openClient('udp', at(MARK))
  return {
    async hasMark(index) {
      const request = requestOctets(`${index}.${MARK_ZONE} TXT`)
      for (const deadline = Date.now() + 10_000; ; await sleep(2)) {
        if (readAnswer(await marks.ask(request)).answer.length > 0) return
        if (Date.now() > deadline) throw new Error(`the server has no mark of file ${index} within 10 s:\n${server.output()}`)
      }
    },
    async failuresOf(file) {
      const client = await openClient('udp', at(file))
      try {
        const failures = await failuresAmong(file.cases, (request) => client.ask(request))
        return [
          ...failures,
          ...server
            .output()
            .split('\n')
            .filter((line) => line.includes('a plugin failed'))
        ]
      } finally {
        client.close()
      }
    },
    async stop() {
      marks.close()
      await server.stop()
      folder.remove()
    }
  }
}

const MARK: Pick<CaseFile, 'config'> = { config: { domain: MARK_ZONE } }
