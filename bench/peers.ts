/** Other servers: how each is started with one of the configurations of bench/peers, and what it cannot serve. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case } from './cases.js'
import { benchFile } from './corefiles.js'
import { ZONE } from './services.js'
import { dnsmasqHosts, dnsmasqServices, unboundRecords, writeRecords, zoneFile } from './zone-files.js'

/** What a peer's configuration is filled with. */
export interface PeerPlaces {
  /** A folder of its own. */
  readonly folder: string
  readonly port: number
  readonly upstreamPort: number
  /** How many services it serves. */
  readonly services: number
}

/** A server that is not Skein. */
export interface Peer {
  readonly name: string
  readonly program: string
  /** Why it cannot serve a case; undefined where it can. */
  unable(of: Case): string | undefined
  /** Writes its configuration and what it serves; gives the arguments that it is started with. */
  prepare(places: PeerPlaces): readonly string[]
}

const onlyAuthoritative = ({ isForwarded }: Case): string | undefined => (isForwarded ? 'forwards nothing' : undefined)
const everything = (): undefined => undefined

/** The peers with a configuration of ours. */
export const PEERS: readonly Peer[] = [
  {
    name: 'unbound',
    program: 'unbound',
    unable: everything,
    prepare(places) {
      writeRecords(join(places.folder, 'unbound.records'), unboundRecords(places.services))
      return ['-d', '-c', configured('unbound.conf', places)]
    }
  },
  {
    name: 'knot',
    program: 'knotd',
    unable: onlyAuthoritative,
    prepare(places) {
      mkdirSync(join(places.folder, 'database'))
      writeRecords(join(places.folder, 'bench.zone'), zoneFile(places.services))
      return ['-c', configured('knot.conf', places)]
    }
  },
  {
    name: 'nsd',
    program: 'nsd',
    unable: onlyAuthoritative,
    prepare(places) {
      writeRecords(join(places.folder, 'bench.zone'), zoneFile(places.services))
      return ['-d', '-c', configured('nsd.conf', places)]
    }
  },
  {
    name: 'dnsmasq',
    program: 'dnsmasq',
    unable: everything,
    prepare(places) {
      writeRecords(join(places.folder, 'dnsmasq.hosts'), dnsmasqHosts(places.services))
      writeRecords(join(places.folder, 'dnsmasq.srv'), dnsmasqServices())
      return ['--keep-in-foreground', `--conf-file=${configured('dnsmasq.conf', places)}`]
    }
  },
  {
    name: 'coredns',
    program: 'coredns',
    unable: everything,
    prepare(places) {
      writeRecords(join(places.folder, 'bench.zone'), zoneFile(places.services))
      return ['-conf', configured('coredns.conf', places)]
    }
  }
]

/** What `--peer` knows by name. */
export const PEER_NAMES: readonly string[] = ['floor', ...PEERS.map(({ name }) => name), 'skydns']

function configured(name: string, { folder, port, upstreamPort }: PeerPlaces): string {
  const text = readFileSync(benchFile(`peers/${name}`), 'utf8')
  const filled = text
    .replaceAll('@DIR@', folder)
    .replaceAll('@PORT@', `${port}`)
    .replaceAll('@UPSTREAM@', `${upstreamPort}`)
    .replaceAll('@ZONE@', ZONE)
  const path = join(folder, name)
  writeFileSync(path, filled)
  return path
}
