/** The services of the bench as other servers read them. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { recordsOf, ZONE } from './services.js'

const LINES_PER_WRITE = 10_000
/** As SkyDNS makes it, with a serial that stands still. */
const SOA = `ns.dns.${ZONE}. hostmaster.${ZONE}. 1 28800 7200 604800 60`

/** A master file. */
export function* zoneFile(services: number): Generator<string> {
  yield `$ORIGIN ${ZONE}.`
  yield '$TTL 3600'
  yield `@ 60 IN SOA ${SOA}`
  yield `@ IN NS ns.dns`
  yield `ns.dns IN A 127.0.0.1`
  for (const { owner, type, rdata } of recordsOf(services)) yield `${owner} IN ${type} ${rdata}`
}

/** Lines of Unbound's configuration. */
export function* unboundRecords(services: number): Generator<string> {
  yield `local-data: "${ZONE}. 60 IN SOA ${SOA}"`
  for (const { owner, type, rdata } of recordsOf(services)) yield `local-data: "${owner}.${ZONE}. 3600 IN ${type} ${rdata}"`
}

/** A file of hosts, with what has an address. */
export function* dnsmasqHosts(services: number): Generator<string> {
  for (const { owner, type, rdata } of recordsOf(services)) if (type === 'A') yield `${rdata} ${owner}.${ZONE}`
}

/** Lines of dnsmasq's configuration, with the SRV records. */
export function* dnsmasqServices(): Generator<string> {
  for (const { owner, type, rdata } of recordsOf(0)) {
    if (type !== 'SRV') continue
    const [priority, weight, port, target = ''] = rdata.split(' ')
    yield `srv-host=${owner}.${ZONE},${target.replace(/\.$/, '')},${port},${priority},${weight}`
  }
}

/** Writes lines to a file; a million of them are more than one string should hold. */
export function writeRecords(path: string, lines: Iterable<string>): void {
  const file = openSync(path, 'w')
  let some: string[] = []
  const write = (): void => {
    writeSync(file, some.map((line) => `${line}\n`).join(''))
    some = []
  }
  for (const line of lines) if (some.push(line) === LINES_PER_WRITE) write()
  write()
  closeSync(file)
}
