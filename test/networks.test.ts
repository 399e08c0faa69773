/** Wherever a plugin's directive takes a zone, a network stands for all of its reverse zones, and not for the first alone. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { BUILT_IN } from '../src/chain/order.js'
import type { Plugin } from '../src/plugin.js'
import { type FakeUpstream, fakeUpstream, MemoryStore, replyTo, serverOf } from '../src/testing.js'
import { temporaryFolder } from './processes.js'
import { root } from './rules/source-file.js'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

async function upstream(): Promise<FakeUpstream> {
  const fake = await fakeUpstream({ udp: ({ octets }, answer) => answer(replyTo(octets)) })
  open.push(fake)
  return fake
}

/** Names in both zones of 192.0.2.0/23, and names beside it. */
const inside = ['1.2.0.192.in-addr.arpa.', 'a.255.2.0.192.in-addr.arpa.', '1.3.0.192.in-addr.arpa.', '255.3.0.192.in-addr.arpa.']
const outside = ['1.1.0.192.in-addr.arpa.', '1.4.0.192.in-addr.arpa.', '0.192.in-addr.arpa.', '12.0.192.in-addr.arpa.']
const network = '192.0.2.0/23'

interface Case {
  /** The block, where an upstream listens at `to`. */
  readonly block: (to: string) => string
  /** What a client sees of a name in the network, and of one beside it. */
  readonly within: string
  readonly beside: string
  /** What is asked for; A where left out. */
  readonly type?: string
}

const keys = temporaryFolder()
afterAll(() => keys.remove())

const store = 'store\napi off'
/** By plugin, option and argument. */
const cases: Readonly<Record<string, Case>> = {
  'cache ZONES': { block: (to) => `cache example.org ${network}\nforward . ${to}`, within: 'NOERROR once', beside: 'NOERROR twice' },
  'cache disable ZONES': {
    block: (to) => `cache {\ndisable success example.org ${network}\n}\nforward . ${to}`,
    within: 'NOERROR twice',
    beside: 'NOERROR once'
  },
  // It refuses a type that proofs alone have.
  'dnssec ZONES': {
    block: () => `dnssec example.org ${network} {\nkeys ${keys.path}\n}`,
    type: 'TYPE128',
    within: 'FORMERR never',
    beside: 'REFUSED never'
  },
  'etcd-backend ZONES': { block: () => `etcd example.org ${network} {\n${store}\n}`, within: 'NXDOMAIN never', beside: 'REFUSED never' },
  'etcd-backend fallthrough ZONES': {
    block: (to) => `etcd in-addr.arpa {\n${store}\nfallthrough example.org ${network}\n}\nforward . ${to}`,
    within: 'NOERROR twice',
    beside: 'NXDOMAIN never'
  },
  'forward FROM': { block: (to) => `forward ${network} ${to}`, within: 'NOERROR twice', beside: 'REFUSED never' },
  'forward except ZONES': {
    block: (to) => `forward . ${to} {\nexcept example.org ${network}\n}`,
    within: 'REFUSED never',
    beside: 'NOERROR twice'
  },
  'stub zone ZONE': { block: (to) => `stub {\nzone ${network} ${to}\n}`, within: 'NOERROR twice', beside: 'REFUSED never' }
}

/** What comes of asking twice, and how often the upstream was asked. */
async function outcome(block: string, fake: FakeUpstream, name: string, type = 'A'): Promise<string> {
  const server = await serverOf(`. {\n${block}\n}`, { services: new MemoryStore() })
  const before = fake.asked.length
  await server.ask(`${name} ${type}`)
  const { rcode } = await server.ask(`${name} ${type}`)
  await server.stop()
  return `${rcode} ${['never', 'once', 'twice'][fake.asked.length - before]}`
}

describe('a network stands for all of its reverse zones', () => {
  test.each(Object.entries(cases))('%s', async (_argument, { block, within, beside, type }) => {
    const fake = await upstream()
    const text = block(`127.0.0.1:${fake.port}`)
    const told: string[] = []
    for (const name of [...inside, ...outside]) told.push(`${name} ${await outcome(text, fake, name, type)}`)
    expect(told).toEqual([...inside.map((name) => `${name} ${within}`), ...outside.map((name) => `${name} ${beside}`)])
  })

  test('in every argument that there is', async () => {
    expect(await zoneArguments()).toEqual(Object.keys(cases))
  })
})

describe('networks as keys serve what is in them, and nothing else', () => {
  const reversed = (address: string): string => `${address.split('.').reverse().join('.')}.in-addr.arpa.`
  test.each<[string, string[], string[]]>([
    ['10.20.224.0/22', ['10.20.224.0', '10.20.227.255'], ['10.20.223.255', '10.20.228.0', '10.20.231.255']],
    ['10.20.228.0/22', ['10.20.228.0', '10.20.231.255'], ['10.20.224.0', '10.20.227.255', '10.20.232.0']],
    ['192.0.2.128/25', ['192.0.2.128', '192.0.2.255'], ['192.0.2.127', '192.0.2.0', '192.0.3.128']],
    ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255'], ['11.0.0.0', '9.255.255.255']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], []]
  ])('%s', async (key, served, refused) => {
    // The block beside it has no plugin: what is routed there is refused.
    const beside = key === '10.20.224.0/22' ? '10.20.228.0/22' : '10.20.224.0/22'
    const server = await serverOf(`${key} {\nwhoami\n}\n${beside} {\n}`)
    open.push(server)
    for (const address of [...served, ...refused]) {
      const { rcode } = await server.ask(`${reversed(address)} PTR`)
      expect(`${address} ${rcode}`).toBe(`${address} ${served.includes(address) ? 'NOERROR' : 'REFUSED'}`)
    }
    expect((await server.ask('example.org. A')).rcode).toBe('REFUSED')
  })
})

/** Every argument of a built-in plugin that takes a zone, as `plugin option ARGUMENT`. */
async function zoneArguments(): Promise<string[]> {
  const found: string[] = []
  for (const name of BUILT_IN) {
    const url = pathToFileURL(join(root, 'dist/plugins', name, 'index.js')).href
    const { default: plugin } = (await import(url)) as { default: Plugin }
    const { args = [], options = {} } = plugin.schema ?? { about: '' }
    for (const argument of args) if (argument.type === 'zone') found.push(`${name} ${argument.name}`)
    for (const [option, { args: own = [] }] of Object.entries(options) as [string, { args?: readonly { name: string; type: string }[] }][])
      for (const argument of own) if (argument.type === 'zone') found.push(`${name} ${option} ${argument.name}`)
  }
  return found
}
