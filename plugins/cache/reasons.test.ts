import type { Query, ReplyParts } from 'skein/plugin'
import { type Answer, serverOf, TestClock } from 'skein/testing'
import { afterEach, expect, test } from 'vitest'
import { soa, startScripted, upstream } from './scripted-upstream.js'

let stop: () => Promise<void>
afterEach(() => stop())

const reasons = ({ edns }: Answer): string[] =>
  (edns?.options ?? []).map(([code, payload]) => `${code} ${payload[1]} ${Buffer.from(payload.subarray(2)).toString()}`)
const own = (parts: ReplyParts) => (query: Query) => query.reply(parts)
const theirs = (parts: ReplyParts) => (query: Query) => upstream(query, parts)
const gone = { rcode: 'NXDOMAIN', authority: [soa(60, 60)] } as const
const old = [{ code: 7, text: 'old' }]

test.each<[string, (query: Query) => ReturnType<typeof upstream>, string[], string[]?]>([
  ['of a name that does not exist', own({ ...gone, why: 'no-such-name' }), ['15 0 no-such-name']],
  ['of a plugin, with its words', own({ ...gone, why: 'blocked', extendedErrors: old }), ['15 7 blocked: old']],
  ['that a plugin does not give', own(gone), []],
  ['of an upstream', theirs({ ...gone, extendedErrors: old }), ['15 7 old']],
  ['of an upstream that gives none', theirs(gone), ['15 0 forwarded']],
  ['of no error', own({ authority: gone.authority, why: 'nodata' }), []],
  ['of a failure, and that it was kept', own({ rcode: 'SERVFAIL', why: 'too-many' }), ['15 0 too-many'], ['15 0 too-many', '15 13 cached']]
])('the reason %s is told from the cache as well', async (_title, act, first, later = first) => {
  const clock = new TestClock()
  const { server, asked, ...running } = await startScripted((corefile, file) => serverOf(corefile, { file, clock }), act)
  stop = running.stop
  const ask = async (edns?: number) => reasons(await server.ask('a.example.org. A', edns === undefined ? {} : { edns }))
  expect(await ask(1232)).toEqual(first)
  expect(await ask(1232)).toEqual(later)
  clock.advance(2000)
  expect(await ask(1232)).toEqual(later)
  expect(await ask()).toEqual([])
  expect(asked).toHaveLength(1)
})

test('a reason for a client that has no EDNS is kept for those that have', async () => {
  const act = own({ ...gone, why: 'no-such-name' })
  const { server, asked, ...running } = await startScripted((corefile, file) => serverOf(corefile, { file }), act)
  stop = running.stop
  expect(reasons(await server.ask('a.example.org. A'))).toEqual([])
  expect(reasons(await server.ask('a.example.org. A', { edns: 1232 }))).toEqual(['15 0 no-such-name'])
  expect(asked).toHaveLength(1)
})
