/** The servers beside Skein: the floor, the peers with a configuration of ours, and what the command line starts. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, type Running, startProcess } from '../test/processes.js'
import type { Case } from './cases.js'
import type { PeerOption } from './options.js'
import { PEERS, type Peer } from './peers.js'
import { type BenchServer, programOf, type Startable, whenAnswering } from './scene.js'
import { configureSkein } from './skein-server.js'
import { startSkydns, unableOfSkydns } from './skydns.js'

/** The floor: a program that answers everything with Skein's first reply. */
export function floor(program: string): Startable {
  return {
    name: 'floor',
    isSkein: false,
    unable: () => undefined,
    start: async ({ of, reply }) => {
      const port = await freePort()
      const running = await startProcess(program, [of.transport, `${port}`, reply], { ready: /^ready/m })
      return named('floor', port, running)
    }
  }
}

/** The peer of an option. Throws where its program is not on this machine. */
export function peer({ name, given }: PeerOption): Startable {
  if (name === 'skydns' && given === undefined) return { name, isSkein: false, unable: unableOfSkydns, start: startSkydns }
  const known = PEERS.find((each) => each.name === name)
  if (given !== undefined) return givenPeer(name, given, known)
  if (known === undefined) throw new Error(`${name} is no peer that is known here`)
  const program = programOf(known.program)
  return {
    name,
    isSkein: false,
    unable: (of) => unableOf(known, of),
    start: async (scene) => {
      const port = await freePort()
      const places = { folder: scene.folder(), port, upstreamPort: scene.upstreamPort, services: scene.services }
      return named(name, port, await startProcess(program, known.prepare(places), whenAnswering(scene, port)))
    }
  }
}

function givenPeer(name: string, { command, port }: { command: string; port: number }, known: Peer | undefined): Startable {
  return {
    name,
    isSkein: false,
    unable: (of) => (known === undefined ? undefined : unableOf(known, of)),
    start: async (scene) => {
      const folder = scene.folder()
      if (known !== undefined) known.prepare({ folder, port, upstreamPort: scene.upstreamPort, services: scene.services })
      else {
        cpSync(scene.store, join(folder, 'data'), { recursive: true })
        await configureSkein(folder, port, scene)
      }
      const running = await startProcess('/bin/sh', ['-c', `exec ${command}`], { ...whenAnswering(scene, port), cwd: folder })
      return named(name, port, running)
    }
  }
}

function unableOf(known: Peer, of: Case): string | undefined {
  return of.isSigned === true ? 'has a configuration without keys' : known.unable(of)
}

function named(name: string, port: number, running: Running): BenchServer {
  return { name, port, pid: running.pid, stop: () => running.stop() }
}
