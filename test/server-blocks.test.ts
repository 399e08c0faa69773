/** What a server block is to its plugins, and several blocks to each other. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { openListeners } from '../src/listen/listeners.js'
import { readAnswer, requestOctets, serverOf, type TestServer, TestSlot } from '../src/testing.js'
import { sendDatagrams } from './dns-client.js'
import { freePort, temporaryFolder } from './processes.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())
const file = join(folder.path, 'Corefile')

/** Says in the log what is done with it, with the number of its instance, and answers with that number. */
const counting = join(folder.path, 'node_modules/skein-plugin-counting')
mkdirSync(counting, { recursive: true })
writeFileSync(join(counting, 'package.json'), '{"type":"module","exports":"./index.js"}')
writeFileSync(
  join(counting, 'index.js'),
  `let instances = 0
  export default { name: 'counting', api: 1, setup({ directive }, host) {
    const own = ++instances
    const say = (what) => host.log.info(what + ' ' + own)
    say('setup for ' + directive.zones.join(' '))
    return {
      start: () => say('start'), stop: () => say('stop'),
      handle: (query) => query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 0, rdata: [String(own)] }] })
    }
  } }`
)

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function started(corefile: string): Promise<TestServer> {
  const server = await serverOf(corefile, { file })
  servers.push(server)
  return server
}

test('a plugin has one instance in a block, whatever the number of its zones, ports and addresses, and another in each other block', async () => {
  const server = await started(
    '(both) {\n  counting\n}\na.example b.example b.example:1053 192.0.2.0/23 {\n  bind 127.0.0.1 ::1\n  import both\n}\nc.example {\n  import both\n}'
  )
  const said = (what: string): string[] =>
    server.log.lines.filter((line) => line.includes(` ${what} `)).map((line) => line.replace('[INFO] plugin/counting: ', ''))
  expect(said('setup for').map((line) => line.replace(/ \d+$/, ''))).toEqual([
    'setup for a.example. b.example. 2.0.192.in-addr.arpa. 3.0.192.in-addr.arpa.',
    'setup for c.example.'
  ])
  expect(said('start')).toHaveLength(2)
  const texts: string[] = []
  for (const endpoint of server.instance.endpoints) {
    for (const name of ['a.example.', 'b.example.', '1.3.0.192.in-addr.arpa.', 'c.example.']) {
      const octets = await new Promise<Uint8Array>((resolve) => {
        const sent = (reply: Uint8Array | undefined): void => resolve(reply!)
        new TestSlot(requestOctets(`${name} TXT`), sent, { local: endpoint.address }).giveTo(endpoint.receive)
      })
      const { answer } = readAnswer(octets)
      if (answer.length > 0) texts.push(`${name} ${answer[0]!.split(' ').at(-1)}`)
    }
  }
  // Two instances, and each name always meets the same.
  expect(new Set(texts.map((text) => text.split(' ')[1])).size).toBe(2)
  expect(new Set(texts).size).toBe(4)
  await servers.pop()!.stop()
  expect(said('stop')).toHaveLength(2)
})

describe('blocks that share a port answer for all of their zones, at the address that one of them names too', () => {
  const bound = (port: number): string => `a.example.org:${port} {\n  bind 127.0.0.1\n  whoami\n}`
  const everywhere = (port: number): string => `example.org:${port} {\n  bind 0.0.0.0\n  whoami\n}`

  test.each([
    ['the bound one first', (port: number) => `${bound(port)}\n${everywhere(port)}`],
    ['the bound one last', (port: number) => `${everywhere(port)}\n${bound(port)}`]
  ])('%s', async (_title, corefile) => {
    const server = await started(corefile(await freePort()))
    const listeners = await openListeners(server.instance.endpoints)
    const where = listeners.list.find(({ address }) => address === '127.0.0.1')!
    const told: string[] = []
    for (const name of ['a.example.org.', 'b.example.org.', 'org.']) {
      const { messages, faults } = await sendDatagrams(where, [Buffer.from(requestOctets(`${name} A`)).toString('hex')], 1)
      told.push([name, ...messages.map((octets) => readAnswer(octets).rcode), ...faults].join(' '))
    }
    await listeners.close(100)
    expect(told).toEqual(['a.example.org. NOERROR', 'b.example.org. NOERROR', 'org. REFUSED'])
    expect(server.log.lines).toEqual([expect.stringContaining('listens on every address: all their zones are served there')])
  })
})
