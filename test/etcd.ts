import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CertificatePair } from './certificates.js'
import { callEtcd, type EtcdTarget } from './etcd-calls.js'
import { freePort, type Running, startProcess, temporaryFolder } from './processes.js'
import { tool } from './tools.js'

/** How to start a cluster of etcd. */
export interface EtcdOptions {
  /** How many members; 1 where left out. */
  readonly size?: 1 | 3
  /** Serves clients by TLS with the server's pair; asks them for a certificate by this authority where one is given. */
  readonly tls?: { readonly server: CertificatePair; readonly authority: CertificatePair; readonly clients?: CertificatePair }
  /** On [::1] in place of 127.0.0.1. */
  readonly ipv6?: boolean
  /** The ports for clients; free ones where left out. */
  readonly ports?: readonly number[]
  /** Flags for each member. */
  readonly flags?: readonly string[]
}

/** One process of etcd, which keeps its ports and its folder. */
export interface EtcdMember {
  readonly port: number
  /** `http://127.0.0.1:PORT`, or with https or [::1]. */
  readonly endpoint: string
  readonly target: EtcdTarget
  isRunning(): boolean
  /** Starts it; resolves when it serves, with `'at once'` when the process runs: a member without the others never serves. */
  start(until?: 'it serves' | 'at once'): Promise<void>
  /** Has it end in its own way. */
  stop(): Promise<void>
  /** Ends it as a crash would. */
  kill(): Promise<void>
  /** Stops the process where it is: connections stay, and nothing answers. Resolves when each of its threads stands. */
  freeze(): Promise<void>
  thaw(): void
  /** Deletes the data of one that does not run. */
  wipe(): void
  /** Copies the data of one that does not run; a name for `restoreData`. */
  saveData(): string
  /** Puts data of this member back in place of those that it has; it must not run. */
  restoreData(saved: string): void
  /** All that it has printed since its last start. */
  output(): string
}

/** A cluster of etcd on loopback, with the v2 API too. */
export interface Etcd {
  readonly members: readonly EtcdMember[]
  readonly endpoints: readonly string[]
  /** The first member, for those who call it. */
  readonly target: EtcdTarget
  /** The member that leads; waits for an election. */
  leader(): Promise<EtcdMember>
  /** Starts all members that do not run. */
  start(): Promise<void>
  /** Kills all members, and deletes their data; `start` makes an empty cluster, of the same ID or of another. */
  wipe(cluster: 'same cluster' | 'another cluster'): Promise<void>
  /** Ends all members and removes their data. */
  stop(): Promise<void>
}

interface Shape {
  readonly folder: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly ports: readonly number[]
  readonly peerPorts: readonly number[]
  readonly options: EtcdOptions
  token: string
}

/** Starts a cluster, and waits until each member serves. */
export async function startEtcd(options: EtcdOptions = {}): Promise<Etcd> {
  const address = options.ipv6 ? '::1' : '127.0.0.1'
  const size = options.size ?? 1
  const folder = temporaryFolder()
  const shape: Shape = {
    folder: folder.path,
    scheme: options.tls ? 'https' : 'http',
    host: options.ipv6 ? '[::1]' : address,
    ports: options.ports ?? (await freePorts(size, address)),
    peerPorts: await freePorts(size, address),
    options,
    token: 'first'
  }
  const members = Array.from({ length: size }, (_, index) => makeMember(shape, index))
  const etcd: Etcd = {
    members,
    endpoints: members.map(({ endpoint }) => endpoint),
    target: members[0]!.target,
    leader: () => leaderOf(members),
    async start() {
      await Promise.all(members.filter((member) => !member.isRunning()).map((member) => member.start()))
    },
    async wipe(cluster) {
      await Promise.all(members.map((member) => member.kill()))
      for (const member of members) member.wipe()
      if (cluster === 'another cluster') shape.token += '+'
    },
    async stop() {
      await Promise.all(members.map((member) => member.kill()))
      folder.remove()
    }
  }
  try {
    await etcd.start()
  } catch (error) {
    await etcd.stop()
    throw error
  }
  return etcd
}

function makeMember(shape: Shape, index: number): EtcdMember {
  const { scheme, host, options } = shape
  const port = shape.ports[index]!
  const endpoint = `${scheme}://${host}:${port}`
  const data = join(shape.folder, `member${index}`)
  let running: Running | undefined
  let saved = 0
  const end = async (graceMs: number): Promise<void> => {
    const ending = running
    running = undefined
    await ending?.stop(graceMs)
  }
  const signal = (name: NodeJS.Signals): void => {
    if (running === undefined) throw new Error(`${endpoint} does not run`)
    process.kill(running.pid, name)
  }
  const mustNotRun = (): void => {
    if (running !== undefined) throw new Error(`${endpoint} runs`)
  }
  return {
    port,
    endpoint,
    target: { endpoint, tls: tlsOf(options) },
    isRunning: () => running !== undefined,
    async start(until = 'it serves') {
      mustNotRun()
      const serves = { ready: /ready to serve client requests|serving .*client requests/, readyWithinMs: 15_000 }
      running = await startProcess(tool('etcd'), flags(shape, index, data), until === 'at once' ? {} : serves)
    },
    stop: () => end(3_000),
    kill: () => end(0),
    async freeze() {
      signal('SIGSTOP')
      while (!stands(running!.pid)) await sleep(5)
    },
    thaw: () => signal('SIGCONT'),
    wipe() {
      mustNotRun()
      rmSync(data, { recursive: true, force: true })
    },
    saveData() {
      mustNotRun()
      const name = `${data}-saved${saved++}`
      cpSync(data, name, { recursive: true, preserveTimestamps: true })
      return name
    },
    restoreData(name) {
      this.wipe()
      cpSync(name, data, { recursive: true, preserveTimestamps: true })
    },
    output: () => running?.output() ?? ''
  }
}

// The kernel stops threads one by one, and one that still runs may answer.
function stands(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.every((thread) => /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')))
}

function flags({ scheme, host, ports, peerPorts, token, options }: Shape, index: number, data: string): string[] {
  const peers = peerPorts.map((port) => `http://${host}:${port}`)
  const client = `${scheme}://${host}:${ports[index]}`
  // A cluster on a busy machine must not lose its leader again and again; one that is alone has none to lose.
  const [heartbeat, election] = ports.length > 1 ? [50, 500] : [20, 200]
  return [
    `--name=member${index}`,
    `--data-dir=${data}`,
    '--enable-v2=true',
    '--log-outputs=stderr',
    '--bcrypt-cost=4',
    `--heartbeat-interval=${heartbeat}`,
    `--election-timeout=${election}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peers[index]}`,
    `--initial-advertise-peer-urls=${peers[index]}`,
    `--initial-cluster=${peers.map((url, at) => `member${at}=${url}`).join(',')}`,
    `--initial-cluster-token=${token}`,
    ...tlsFlags(options),
    ...(options.flags ?? [])
  ]
}

function tlsFlags({ tls }: EtcdOptions): string[] {
  if (tls === undefined) return []
  const { server, clients } = tls
  const asked = clients === undefined ? [] : ['--client-cert-auth', `--trusted-ca-file=${clients.certificateFile}`]
  return [`--cert-file=${server.certificateFile}`, `--key-file=${server.keyFile}`, ...asked]
}

// The server's certificate is one for clients too, so the calls of tests need no other.
function tlsOf({ tls }: EtcdOptions): EtcdTarget['tls'] {
  return tls && { ca: tls.authority.certificate, cert: tls.server.certificate, key: tls.server.key }
}

async function leaderOf(members: readonly EtcdMember[]): Promise<EtcdMember> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await sleep(50)) {
    for (const member of members.filter((each) => each.isRunning())) {
      const said = await callEtcd(member.target, 'GET', '/v2/stats/self').catch(() => undefined)
      if (said?.text.includes('"StateLeader"')) return member
    }
  }
  throw new Error('no member of the cluster leads within 10 s')
}

async function freePorts(count: number, address: string): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, () => freePort(address)))
}
