/** What becomes of sockets that were passed, with either way to drive UDP sockets. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { requestOctets } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { block, startPassed, warningsOf, whoAsked } from './passed.js'
import { freePort } from './processes.js'

/** How UDP sockets are driven. */
export type UdpDriver = 'batch' | 'dgram'

/** They are served in place of what would be opened, and a reload keeps them. */
export async function servedAndReloaded(driver: UdpDriver): Promise<void> {
  const [both, udp, tcp, v6, idle] = [await freePort(), await freePort(), await freePort(), await freePort('::1'), await freePort()]
  const blocks = [block(udp, 'bind 127.0.0.1'), block(tcp, 'bind 127.0.0.1'), block(v6, 'bind ::1')].join('')
  const running = await startPassed(
    [
      ['udp', '127.0.0.1', both],
      ['tcp', '127.0.0.1', both],
      ['udp', '127.0.0.1', udp],
      ['tcp', '127.0.0.1', tcp],
      ['udp', '::1', v6],
      ['tcp', '::1', v6],
      ['udp', '127.0.0.1', idle],
      ['unix'],
      ['file'],
      ['tcp-silent', '127.0.0.1', idle],
      ['udp-connected', '127.0.0.1', 0]
    ],
    block(both, 'bind 127.0.0.1') + blocks,
    { env: { SKEIN_UDP: driver } }
  )
  const told = [both, udp, tcp].flatMap((port) => (['udp', 'tcp'] as const).map((transport) => whoAsked(transport, '127.0.0.1', port)))
  expect(await Promise.all(told)).toEqual(Array.from({ length: 6 }, () => '127.0.0.1'))
  expect([await whoAsked('udp', '::1', v6), await whoAsked('tcp', '::1', v6)]).toEqual(['::1', '::1'])
  expect(running.output().match(/listening on the passed socket/g)).toHaveLength(6)
  const silent =
    driver === 'batch'
      ? 'it is a TCP socket that does not listen'
      : 'it is in no table of /proc/self/net: it is not bound, does not listen, or is of another network (which the package koffi could tell)'
  expect(warningsOf(running)).toEqual([
    'descriptor 10 (unix), which was passed, is not used: it is a Unix socket, expected one of UDP or TCP',
    'descriptor 11 (file), which was passed, is not used: it is no socket',
    `descriptor 12 (tcp-silent), which was passed, is not used: ${silent}`,
    'descriptor 13 (udp-connected), which was passed, is not used: it is connected, expected one that listens (with systemd, Accept=no)',
    `the passed socket 127.0.0.1:${idle} (udp, descriptor 9) is where no server block listens: nobody answers there`
  ])
  // No program that the server starts gets them.
  for (const fd of [3, 9, 13])
    expect(
      Number.parseInt(/flags:\s+(\d+)/.exec(readFileSync(`/proc/${running.pid}/fdinfo/${fd}`, 'utf8'))![1]!, 8) & 0o2000000
    ).toBeTruthy()

  const reload = async (corefile: string): Promise<void> => {
    const before = running.output().length
    writeFileSync(join(running.cwd, 'Corefile'), corefile)
    process.kill(running.pid, 'SIGHUP')
    await expect.poll(() => running.output().slice(before), { timeout: 5000 }).toMatch(/Reloading complete/)
  }
  const client = await openClient('udp', { address: '127.0.0.1', port: both })
  const asking = (async () => {
    for (let id = 1; id <= 300; id++) await client.ask(requestOctets('example.org. A', { id }))
  })()
  await reload(block(both, 'bind 127.0.0.1', 'errors') + blocks)
  await asking
  client.close()

  await reload(blocks)
  const dropped = driver === 'batch' ? 'is where no server block listens: nobody answers there' : 'is closed: only a restart brings it back'
  await running.prints(new RegExp(`the passed socket 127.0.0.1:${both} \\(tcp, descriptor 4\\) ${dropped}`))
  expect(await whoAsked('udp', '127.0.0.1', udp)).toBe('127.0.0.1')
  await reload(block(both, 'bind 127.0.0.1') + blocks)
  expect([await whoAsked('udp', '127.0.0.1', both), await whoAsked('tcp', '127.0.0.1', both)]).toEqual(['127.0.0.1', '127.0.0.1'])
}

/** One of all addresses, of one family or both, is one socket. */
export async function servedForAll(driver: UdpDriver): Promise<void> {
  const [dual, v4, v6] = [await freePort('::'), await freePort(), await freePort('::')]
  const running = await startPassed(
    [
      ['udp', '::', dual],
      ['tcp', '::', dual],
      ['udp', '0.0.0.0', v4],
      ['udp-ipv6-only', '::', v6]
    ],
    block(dual, 'multisocket 2', 'log . "{local} to {remote}"') + block(v4) + block(v6, 'bind ::'),
    { env: { SKEIN_UDP: driver } }
  )
  const each = (transport: 'udp' | 'tcp', port: number, ...addresses: string[]): Promise<string[]> =>
    Promise.all(addresses.map((address) => whoAsked(transport, address, port)))
  expect(await each('udp', dual, '127.0.0.1', '::1')).toEqual(['127.0.0.1', '::1'])
  // Whoever asks 127.0.0.2 does so from 127.0.0.1.
  expect(await each('tcp', dual, '127.0.0.1', '127.0.0.2', '::1')).toEqual(['127.0.0.1', '127.0.0.1', '::1'])
  expect([...(await each('udp', v4, '127.0.0.1')), ...(await each('tcp', v4, '127.0.0.1')), ...(await each('udp', v6, '::1'))]).toEqual([
    '127.0.0.1',
    '127.0.0.1',
    '::1'
  ])
  const asked = [...(await each('udp', dual, '127.0.0.2')), ...(await each('udp', v4, '127.0.0.2'))]
  const asTold = driver === 'batch' ? ['127.0.0.2', '127.0.0.2'] : ['127.0.0.2']
  await expect.poll(() => running.output().match(/127\.0\.0\.2(?= to 127\.0\.0\.1)/g)).toEqual(asTold)
  const place = 'Corefile:2: multisocket'
  if (driver === 'dgram') {
    expect(asked).toEqual([dual, v4].map((port) => `a reply from 127.0.0.1 port ${port}, which was not asked`))
    const anywhere =
      'is for every address: without UDP in batches its replies leave from whichever address the machine chooses, so bind it to one address'
    expect(warningsOf(running)).toEqual([
      `the passed socket [::]:${dual} (udp, descriptor 3) ${anywhere}`,
      `the passed socket 0.0.0.0:${v4} (udp, descriptor 5) ${anywhere}`,
      `the passed socket [::]:${v6} (udp, descriptor 6) ${anywhere}`,
      `${place}: threads can share a port only where UDP goes in batches, and here it does not: one thread answers`
    ])
  } else {
    expect(asked).toEqual(['127.0.0.1', '127.0.0.1'])
    expect(running.output()).toMatch(/\[::1\] to \[::1\]/)
    expect(warningsOf(running)).toEqual([`${place}: threads cannot share sockets that the service manager passes: one thread answers`])
  }
}
