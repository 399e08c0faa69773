/** A chain of trust on loopback: an own signed root, the zones that it delegates, and validators that trust it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { requestOctets } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { makeKey, signZone, type ZoneKey } from './dnssec-keys.js'
import { readReply, type WireReply } from './dnssec-wire.js'
import { freePort, type Running, startProcess, temporaryFolder } from './processes.js'
import { tool } from './tools.js'

const LOOPBACK = '127.0.0.1'

/** An authoritative NSD. */
export interface NameServer {
  readonly port: number
  /** Has it serve other texts for zones that it has. */
  change(zones: Readonly<Record<string, string>>): Promise<void>
  stop(): Promise<void>
}

/** Serves zones, each by its name and text. */
export async function startNsd(zones: Readonly<Record<string, string>>): Promise<NameServer> {
  const folder = temporaryFolder()
  const port = await freePort(LOOPBACK)
  const write = (some: Readonly<Record<string, string>>): void => {
    for (const [zone, text] of Object.entries(some)) writeFileSync(join(folder.path, `${zone}zone`), text)
  }
  write(zones)
  const lines = [
    'server:',
    `  ip-address: ${LOOPBACK}@${port}`,
    '  username: ""',
    '  chroot: ""',
    '  database: ""',
    '  server-count: 1',
    '  rrl-ratelimit: 0',
    `  zonesdir: "${folder.path}"`,
    ...['pidfile', 'xfrdfile', 'zonelistfile'].map((file) => `  ${file}: "${join(folder.path, file)}"`),
    `  xfrdir: "${folder.path}"`,
    'remote-control:',
    '  control-enable: no',
    ...Object.keys(zones).flatMap((zone) => ['zone:', `  name: "${zone}"`, `  zonefile: "${join(folder.path, `${zone}zone`)}"`])
  ]
  writeFileSync(join(folder.path, 'nsd.conf'), `${lines.join('\n')}\n`)
  const first = Object.keys(zones)[0]!
  const ready = (): Promise<boolean> => isAnswered(port, `${first} SOA`)
  const nsd = await startProcess(tool('nsd'), ['-d', '-c', join(folder.path, 'nsd.conf')], { ready })
  return {
    port,
    async change(some) {
      // NSD reads a file again whose time has changed, in whole seconds.
      await sleep(1_100)
      write(some)
      process.kill(nsd.pid, 'SIGHUP')
    },
    async stop() {
      await nsd.stop()
      folder.remove()
    }
  }
}

/** Asks once over UDP, for tests that wait until something answers. */
export async function askOnce(port: number, question: string): Promise<WireReply> {
  const client = await openClient('udp', { address: LOOPBACK, port })
  try {
    return readReply(Buffer.from(await client.ask(requestOctets(question, { dnssecOk: true }))))
  } finally {
    client.close()
  }
}

// What is asked before somebody listens is lost.
async function isAnswered(port: number, question: string): Promise<boolean> {
  const reply = await Promise.race([askOnce(port, question).catch(() => undefined), sleep(100)])
  return reply?.rcode === 0
}

/** The root and what it delegates. */
export interface Chain {
  /** Serves the root, `outside.test.` and `cut.skydns.test.`. */
  readonly server: NameServer
  readonly rootKey: ZoneKey
  /** Has the root say these DS for skydns.test, signed anew; resolves when it does. */
  delegate(keys: readonly ZoneKey[]): Promise<void>
}

const SOA = 'IN SOA ns. hostmaster. 1 3600 600 86400 60'

/** What is served beside the zone under test, unsigned. */
const UNSIGNED = {
  'outside.test.': [
    `outside.test. 300 ${SOA}`,
    'outside.test. 300 IN NS ns.outside.test.',
    'ns.outside.test. 300 IN A 127.0.0.1',
    'host.outside.test. 300 IN A 192.0.2.80',
    'host.outside.test. 300 IN AAAA 2001:db8::80',
    'v4.outside.test. 300 IN A 192.0.2.81',
    'alias.outside.test. 300 IN CNAME host.outside.test.',
    ''
  ].join('\n'),
  'cut.skydns.test.': [
    `cut.skydns.test. 300 ${SOA}`,
    'cut.skydns.test. 300 IN NS ns.cut.skydns.test.',
    'ns.cut.skydns.test. 300 IN A 127.0.0.1',
    'www.cut.skydns.test. 300 IN A 192.0.2.90',
    'deep.down.cut.skydns.test. 300 IN TXT "below a cut"',
    ''
  ].join('\n')
}

/** Starts the root, which delegates skydns.test with the DS of these keys. */
export async function startChain(keys: readonly ZoneKey[]): Promise<Chain> {
  const rootKey = await makeKey(temporaryFolder().path, '.', 13)
  let serial = 1
  const signedRoot = (delegated: readonly ZoneKey[]): Promise<string> =>
    signZone({ zone: '.', keys: [rootKey], text: rootText(serial++, delegated) })
  const server = await startNsd({ '.': await signedRoot(keys), ...UNSIGNED })
  return {
    server,
    rootKey,
    async delegate(delegated) {
      await server.change({ '.': await signedRoot(delegated) })
      const isSaid = async (): Promise<boolean> => {
        const { records } = await askOnce(server.port, 'skydns.test. DS')
        const tags = records.filter(({ type }) => type === 43).map(({ rdata }) => rdata.readUInt16BE(0))
        return (
          tags.sort().join() ===
          delegated
            .map(({ ds }) => Number(ds.split(' ')[0]))
            .sort()
            .join()
        )
      }
      for (let tries = 0; !(await isSaid()); tries++) {
        if (tries > 100) throw new Error('NSD does not say the new DS')
        await sleep(50)
      }
    }
  }
}

function rootText(serial: number, keys: readonly ZoneKey[]): string {
  return [
    `. 300 IN SOA ns. hostmaster. ${serial} 3600 600 86400 60`,
    '. 300 IN NS ns.',
    'ns. 300 IN A 127.0.0.1',
    'skydns.test. 300 IN NS ns1.ns.dns.skydns.test.',
    'ns1.ns.dns.skydns.test. 300 IN A 127.0.0.1',
    ...keys.map(({ ds }) => `skydns.test. 300 IN DS ${ds}`),
    'outside.test. 300 IN NS ns.outside.test.',
    'ns.outside.test. 300 IN A 127.0.0.1'
  ].join('\n')
}

/** How an Unbound validates. */
export interface ValidatorOptions {
  /** Where skydns.test is served. */
  readonly zonePort: number
  /** Denies what it can out of denials that it has seen (RFC 8198). */
  readonly aggressive?: boolean
  /** Asks over TCP alone. */
  readonly tcp?: boolean
  /** Whether sub.skydns.test is a zone of its own there. */
  readonly hasChild?: boolean
  /** Asks for whole names in their own spelling, for replies that are forged on their way. */
  readonly isPlain?: boolean
  /** Seconds that anything is kept at most. */
  readonly keepsFor?: number
  /** The environment, for another clock. */
  readonly env?: Record<string, string>
}

/** A validating Unbound. */
export interface Validator {
  readonly port: number
  readonly running: Running
  stop(): Promise<void>
}

/** Starts an Unbound that trusts the chain's root. */
export async function startValidator(chain: Chain, options: ValidatorOptions): Promise<Validator> {
  const folder = temporaryFolder()
  const port = await freePort(LOOPBACK)
  const file = join(folder.path, 'unbound.conf')
  writeFileSync(file, `${unboundLines(chain, options, folder.path, port).join('\n')}\n`)
  const ready = (): Promise<boolean> => isAnswered(port, '. SOA')
  const env = options.env === undefined ? {} : { env: options.env }
  const running = await startProcess(tool('unbound'), ['-d', '-c', file], { ready, ...env })
  return {
    port,
    running,
    async stop() {
      await running.stop()
      folder.remove()
    }
  }
}

function unboundLines(chain: Chain, options: ValidatorOptions, folder: string, port: number): string[] {
  const { zonePort, aggressive = false, tcp = false, isPlain = false, hasChild = false, keepsFor } = options
  const yes = ['log-servfail', 'ede']
  // Not harden-referral-path, which asks for NS and DS at each label: a name of sixty takes seconds.
  const hardened = ['glue', 'dnssec-stripped', 'below-nxdomain', 'algo-downgrade', 'large-queries', 'short-bufsize']
  // The zones below have their own, or once Unbound knows their name servers it asks these at port 53.
  const below = Object.fromEntries(['', 'cut.', ...(hasChild ? ['sub.'] : [])].map((label) => [`${label}skydns.test.`, zonePort]))
  const stubs = { '.': chain.server.port, 'outside.test.': chain.server.port, ...below }
  return [
    'server:',
    `  interface: ${LOOPBACK}`,
    `  port: ${port}`,
    '  do-ip6: no',
    '  do-not-query-localhost: no',
    ...['username', 'chroot', 'pidfile', 'logfile'].map((name) => `  ${name}: ""`),
    `  directory: "${folder}"`,
    '  use-syslog: no',
    '  module-config: "validator iterator"',
    `  trust-anchor: ". DS ${chain.rootKey.ds}"`,
    '  trust-anchor-signaling: no',
    '  local-zone: "test." nodefault',
    '  val-log-level: 2',
    '  val-bogus-ttl: 0',
    '  val-sig-skew-min: 0',
    '  val-sig-skew-max: 0',
    // A machine that has much to do is late at times; nothing is lost on loopback.
    '  infra-cache-min-rtt: 1000',
    '  outbound-msg-retry: 20',
    '  incoming-num-tcp: 100',
    '  outgoing-num-tcp: 100',
    ...yes.map((name) => `  ${name}: yes`),
    ...hardened.map((name) => `  harden-${name}: yes`),
    ...['use-caps-for-id', 'qname-minimisation'].map((name) => `  ${name}: ${isPlain ? 'no' : 'yes'}`),
    `  aggressive-nsec: ${aggressive ? 'yes' : 'no'}`,
    `  tcp-upstream: ${tcp ? 'yes' : 'no'}`,
    ...(keepsFor === undefined ? [] : [`  cache-max-ttl: ${keepsFor}`, `  cache-max-negative-ttl: ${keepsFor}`]),
    'remote-control:',
    '  control-enable: no',
    ...Object.entries(stubs).flatMap(([zone, at]) => ['stub-zone:', `  name: "${zone}"`, `  stub-addr: ${LOOPBACK}@${at}`])
  ]
}
