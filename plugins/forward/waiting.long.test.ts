import { fakeUpstream, serverOf } from 'skein/testing'
import { expect, test } from 'vitest'

test('beyond ten thousand waiting askers the next are refused, and all are answered in the end', async () => {
  const fake = await fakeUpstream({ udp: () => {} })
  const server = await serverOf(`. {\nforward . 127.0.0.1:${fake.port}\n}`)
  const replies = Array.from({ length: 10_000 }, () => server.ask('www.example.org. A'))
  const { rcode, edns } = await server.ask('www.example.org. A', { edns: 1232 })
  expect([rcode, ...edns!.options.map(([, payload]) => `${payload[1]} ${Buffer.from(payload.subarray(2)).toString()}`)]).toEqual([
    'REFUSED',
    '0 too-many'
  ])
  expect(server.counter('coredns_forward_max_concurrent_rejects_total')).toBe(1)
  await expect.poll(() => fake.asked.length).toBe(1)
  await server.stop()
  expect(new Set((await Promise.all(replies)).map(({ rcode }) => rcode))).toEqual(new Set(['SERVFAIL']))
  await fake.stop()
})
