import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EmbeddedStore } from './embedded.js'
import { keysApi } from './keys-api.js'
import { keysCases } from './keys-cases.testing.js'
import { type KeysServer, serveKeys } from './keys-listen.js'
import { call, replay, type Target } from './keys-replay.testing.js'

// What etcd 3.4.23 answered; SKEIN_RECORD_KEYS=1 writes it anew where etcd is installed.
const RECORDED = new URL('../../../src/store/keys-recorded.json', import.meta.url)
const cases = Object.entries(keysCases)
const hasEtcd = spawnSync('etcd', ['--version']).status === 0

let top: string
let store: EmbeddedStore
let server: KeysServer
let ours: Target

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'skein-keys-'))
  store = await EmbeddedStore.open(join(top, 'store'))
  server = await serveKeys('127.0.0.1:0', keysApi(store, { writable: true }))
  ours = targetOf(server)
})

afterAll(async () => {
  await server.close()
  await store.close()
  rmSync(top, { recursive: true, force: true })
})

describe('the keys API answers as etcd 3.4.23 did', () => {
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, string[]>

  test('with a record for every case', () => {
    expect(Object.keys(recorded)).toEqual(Object.keys(keysCases))
  })

  test.each(cases)('where it %s', async (name, steps) => {
    expect(await replay(ours, steps, `recorded${cases.findIndex(([each]) => each === name)}`)).toEqual(recorded[name])
  })
})

describe.skipIf(!hasEtcd)('the keys API answers as the etcd here does', () => {
  const recorded: Record<string, string[]> = {}
  let theirs: Target
  let stop: () => Promise<void>

  beforeAll(async () => {
    ;[theirs, stop] = await startEtcd(join(top, 'etcd'))
  })

  afterAll(async () => {
    await stop()
    if (process.env.SKEIN_RECORD_KEYS === '1') writeFileSync(RECORDED, `${JSON.stringify(recorded, undefined, 2)}\n`)
  })

  test.each(cases)('where it %s', async (name, steps) => {
    const place = `live${cases.findIndex(([each]) => each === name)}`
    const [answered, asked] = await Promise.all([replay(ours, steps, place), replay(theirs, steps, place)])
    recorded[name] = asked
    expect(answered).toEqual(asked)
  })
})

function targetOf({ address }: KeysServer): Target {
  const [host = '', port] = address.split(':')
  return { host, port: Number(port) }
}

async function startEtcd(folder: string): Promise<[Target, () => Promise<void>]> {
  const [port, peerPort] = [await freePort(), await freePort()]
  const client = `http://127.0.0.1:${port}`
  const peer = `http://127.0.0.1:${peerPort}`
  const child = spawn(
    'etcd',
    [
      '--enable-v2',
      `--data-dir=${folder}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`
    ],
    { stdio: 'ignore' }
  )
  const target = { host: '127.0.0.1', port }
  for (let tries = 0; tries < 150; tries++) {
    const health = await call(target, 'GET', '/health').catch(() => undefined)
    if (health?.text.includes('true')) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  return [target, stop]
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
