/** SkyDNS as a peer: it reads its services from an etcd of its own, which has them by the v2 keys API. */
import { freePort, startProcess } from '../test/processes.js'
import type { Case } from './cases.js'
import { type BenchServer, programOf, type Scene, whenAnswering } from './scene.js'
import { serviceEntries, ZONE } from './services.js'

/** More are not worth the time that etcd takes for each. */
const MOST_SERVICES = 10_000
const AT_ONCE = 32

/** Why SkyDNS cannot serve a case. */
export function unableOfSkydns(of: Case): string | undefined {
  if (of.isSigned === true) return 'is configured without keys'
  return of.services(MOST_SERVICES + 1) > MOST_SERVICES ? 'would have its etcd filled for minutes' : undefined
}

/** Starts etcd, fills it, and starts SkyDNS before it. */
export async function startSkydns(scene: Scene): Promise<BenchServer> {
  const [program, etcdProgram] = [programOf('skydns'), programOf('etcd')]
  const [port, client, peer] = [await freePort(), `http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  const urls = ['--listen-client-urls', client, '--advertise-client-urls', client, '--listen-peer-urls', peer]
  const cluster = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`]
  const etcd = await startProcess(etcdProgram, ['--enable-v2', '--data-dir', scene.folder(), ...urls, ...cluster], {
    ready: () => isUp(client)
  })
  try {
    await fill(client, scene.services)
    const args = [`-machines=${client}`, `-addr=127.0.0.1:${port}`, `-domain=${ZONE}.`, `-nameservers=127.0.0.1:${scene.upstreamPort}`]
    const skydns = await startProcess(program, [...args, '-rcache=10000', '-no-rec=false'], whenAnswering(scene, port))
    return { name: 'skydns', port, pid: skydns.pid, stop: () => Promise.all([skydns.stop(), etcd.stop()]) }
  } catch (error) {
    await etcd.stop()
    throw error
  }
}

async function isUp(url: string): Promise<boolean> {
  const reply = await fetch(`${url}/health`).catch(() => undefined)
  return reply?.ok === true
}

async function fill(url: string, services: number): Promise<void> {
  const rest = serviceEntries(services)
  const putAll = async (): Promise<void> => {
    for (const { key, value } of rest) {
      const path = `/${key.join('/')}`
      const reply = await fetch(`${url}/v2/keys${path}`, { method: 'PUT', body: new URLSearchParams({ value }) })
      if (!reply.ok) throw new Error(`etcd does not take ${path}: ${await reply.text()}`)
      await reply.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, putAll))
}
