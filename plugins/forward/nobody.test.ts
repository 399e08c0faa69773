import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Message } from 'skein/plugin'
import { serverOf, type TestServer } from 'skein/testing'
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Forwarder } from './forwarder.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-nobody-'))
afterAll(() => rmSync(folder, { recursive: true }))

let server: TestServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

async function start(lines: string, services: Readonly<Record<string, unknown>> = {}): Promise<TestServer> {
  server = await serverOf(`.:1053 {\nlog "{common} {why}"\n${lines}\n}`, { services, file: join(folder, 'Corefile') })
  return server
}

describe('`forward FROM none` has nobody to ask', () => {
  test.each<[string, string, string, string]>([
    ['', 'www.example.org. A', 'SERVFAIL rd ra', '20 no-upstream'],
    ['', 'example.org. ANY', 'SERVFAIL rd ra', '20 no-upstream'],
    ['ndots 3', 'www.example.org. A', 'SERVFAIL rd ra', '20 no-upstream'],
    ['ndots 3', 'example.org. A', 'SERVFAIL rd ra', '0 ndots: names of fewer than 3 labels are not forwarded'],
    ['no_rec', 'www.example.org. A', 'SERVFAIL rd', '20 no-recursion'],
    ['', 'example.org. AXFR', 'REFUSED rd', '21 meta-type'],
    ['', 'example.net. A', 'REFUSED rd', '20 not-served'],
    ['except a.example.org', 'a.example.org. A', 'REFUSED rd', '20 not-served']
  ])('with %j the question %s gets %s, and is told %s', async (option, question, expected, reason) => {
    const handle = vi.spyOn(Forwarder.prototype, 'handle')
    onTestFinished(() => handle.mockRestore())
    const { rcode, flags, edns } = await (await start(`forward example.org none {\n${option}\n}`)).ask(question, { edns: 1232 })
    const reasons = (edns?.options ?? []).map(([, payload]) => `${payload[1]} ${Buffer.from(payload.subarray(2)).toString()}`)
    expect([`${rcode} ${flags}`, reasons.join()]).toEqual([expected, reason])
    const reply = (await handle.mock.results.at(-1)!.value) as Message
    // Nobody was asked, which is another thing than a look-up that failed.
    expect(reply.origin?.kind).toBe('none')
  })

  test.each<[string, string[]]>([
    ['both.skydns.local. A', ['both.skydns.local. 3600 A 192.0.2.7']],
    ['out.skydns.local. A', []],
    ['out.skydns.local. AAAA', []],
    ['out.skydns.local. CNAME', ['out.skydns.local. 3600 CNAME www.example.org.']],
    ['out.skydns.local. SRV', ['out.skydns.local. 3600 SRV 10 100 0 www.example.org.']]
  ])('a service with a target outside is left out where that is needed: %s', async (question, expected) => {
    const services = {
      '/skydns/local/skydns/out': { host: 'www.example.org' },
      '/skydns/local/skydns/both/1': { host: 'www.example.org' },
      '/skydns/local/skydns/both/2': { host: '192.0.2.7' }
    }
    await start('cache\netcd skydns.local {\nstore\napi off\n}\nforward . none', services)
    for (let times = 0; times < 2; times++) {
      const { rcode, answer, authority } = await server!.ask(question)
      expect([rcode, answer, authority.length]).toEqual(['NOERROR', expected, expected.length === 0 ? 1 : 0])
    }
  })

  test('but `./none` is a file', async () => {
    writeFileSync(join(folder, 'none'), 'options none\n')
    await expect(start('forward . ./none')).rejects.toThrow('forward: ./none: expected a file with a line such as')
    writeFileSync(join(folder, 'none'), 'nameserver 192.0.2.53\n')
    await expect(start('forward . ./none')).resolves.toBeDefined()
  })

  test.each(['none 192.0.2.53', '192.0.2.53 none', 'none /etc/resolv.conf', 'none none'])(
    'beside another TO it is an error: %s',
    async (to) => {
      await expect(start(`forward . ${to}`)).rejects.toThrow(
        'Corefile:3: forward: none says that nobody is asked, expected it alone, or ./none for a file'
      )
    }
  )
})
