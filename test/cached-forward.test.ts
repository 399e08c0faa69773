/** `cache` before `forward`, with an upstream on loopback: what both together must keep apart. */
import { afterEach, describe, expect, test } from 'vitest'
import {
  type AskOptions,
  addressRecord,
  type FakeUpstream,
  fakeUpstream,
  prefixed,
  replyTo,
  serverOf,
  type TestServer,
  type UpstreamActs
} from '../src/testing.js'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

async function before(acts: UpstreamActs, services: Record<string, unknown> = {}): Promise<{ server: TestServer; fake: FakeUpstream }> {
  const fake = await fakeUpstream(acts)
  open.push(fake)
  const etcd = 'etcd skydns.local {\nstore\napi off\n}'
  const server = await serverOf(`. {\nerrors\nbufsize 4096\ncache\n${etcd}\nforward . 127.0.0.1:${fake.port}\n}`, { services })
  open.push(server)
  return { server, fake }
}

const seen = ({ asked }: FakeUpstream): string => asked.map(({ transport }) => transport).join(' ')
const TCP: AskOptions = { client: { transport: 'tcp' } }
const CD = 0x0010
const addresses = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => addressRecord(`192.0.${index >> 8}.${index & 255}`))
const cut: NonNullable<UpstreamActs['udp']> = ({ octets }, answer) => answer(replyTo(octets, { flags: 0x8380, answer: addresses(3) }))
const whole: NonNullable<UpstreamActs['tcp']> = ({ octets }, socket) => socket.write(prefixed(replyTo(octets, { answer: addresses(300) })))

/** Flags, how many records, and whether they fit. */
async function told(server: TestServer, question: string, options: AskOptions, most = 65_535): Promise<string> {
  const { rcode, flags, answer, octets } = await server.ask(question, options)
  return `${rcode} ${flags} ${answer.length}${octets.length > most ? ' too large' : ''}`
}

describe('a reply that does not fit over UDP', () => {
  test('is fetched whole over TCP once, and cut to each client’s size from then on', async () => {
    const { server, fake } = await before({ udp: cut, tcp: whole })
    for (let i = 0; i < 2; i++) {
      expect(await told(server, 'a.example.org. A', {}, 512)).toBe('NOERROR tc rd ra 30')
      expect(await told(server, 'a.example.org. A', TCP)).toBe('NOERROR rd ra 300')
    }
    expect(seen(fake)).toBe('udp tcp')
    expect(await told(server, 'b.example.org. A', TCP)).toBe('NOERROR rd ra 300')
    for (const edns of [4084, 1232, 512]) expect(await told(server, 'b.example.org. A', { edns }, edns)).toMatch(/^NOERROR tc rd ra /)
    expect(await told(server, 'b.example.org. A', { ...TCP, edns: 512 })).toBe('NOERROR rd ra 300')
    expect(seen(fake)).toBe('udp tcp tcp')
  })

  test('and cannot be fetched goes to the client with TC, and is never kept: who comes by TCP has it asked for anew', async () => {
    let isBack = false
    const { server, fake } = await before({ udp: cut, tcp: (asked, socket) => (isBack ? whole(asked, socket) : socket.end()) })
    for (let i = 0; i < 2; i++) expect(await told(server, 'a.example.org. A', {})).toBe('NOERROR tc rd ra 3')
    expect(seen(fake)).toBe('udp tcp udp tcp udp tcp udp tcp')
    isBack = true
    expect(await told(server, 'a.example.org. A', TCP)).toBe('NOERROR rd ra 300')
  })

  test('to a look-up of the server for itself is no answer, so that nobody takes half of one for the whole', async () => {
    const services = { '/skydns/local/skydns/out': { host: 'www.example.org' } }
    const { server } = await before({ udp: cut, tcp: (_asked, socket) => socket.end() }, services)
    expect(await told(server, 'out.skydns.local. A', {})).toBe('SERVFAIL rd ra 0')
    expect(server.log.lines).toContain('[ERROR] plugin/errors: 2 www.example.org. A: truncated, and no answer over TCP')
    const { server: other } = await before({ udp: cut, tcp: whole }, services)
    expect(await told(other, 'out.skydns.local. A', TCP)).toBe('NOERROR aa rd ra 301')
    expect(await told(other, 'out.skydns.local. A', {}, 512)).toMatch(/^NOERROR aa tc rd ra /)
  })
})

test('who checks for himself gets what the validating upstream has, and nobody else gets it from him', async () => {
  const { server, fake } = await before({
    udp: ({ octets }, answer) => answer(replyTo(octets, (octets.readUInt16BE(2) & CD) === 0 ? { flags: 0x8182, answer: [] } : {}))
  })
  for (let i = 0; i < 2; i++) {
    expect(await told(server, 'bogus.example.org. A', { flags: CD })).toBe('NOERROR rd ra cd 1')
    expect(await told(server, 'bogus.example.org. A', {})).toBe('SERVFAIL rd ra 0')
  }
  expect(fake.asked).toHaveLength(2)
})
