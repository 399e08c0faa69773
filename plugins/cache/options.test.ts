import { serverOf, TestClock } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { type Act, address, startScripted } from './scripted-upstream.js'

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
})

async function before(act: Act, cache?: string, more?: string) {
  const clock = new TestClock()
  const running = await startScripted((corefile, file) => serverOf(corefile, { file, clock }), act, cache, more)
  open.push(running)
  return Object.assign(running, { clock })
}

describe('how long an answer is kept has limits', () => {
  test.each<[string, string, number, number | undefined]>([
    ['3600 seconds', 'cache', 86400, 3600],
    ['5 seconds at least', 'cache', 1, 5],
    ['not at all where its TTL is 0', 'cache', 0, undefined],
    ['a TTL of 0 as the operator has written', 'cache {\nsuccess 100 3600 5\n}', 0, 5],
    ['a TTL of 0 not at all for a least TTL of 0', 'cache {\nsuccess 100 3600 0\n}', 0, undefined],
    ['one second for a least TTL of 0', 'cache {\nsuccess 100 3600 0\n}', 1, 1],
    ['the directive’s TTL', 'cache 30', 60, 30],
    ['the option’s TTL', 'cache 30 {\nsuccess 100 40\n}', 60, 40],
    ['no longer than the TTL because of a least one', 'cache 3', 1, 3]
  ])('%s', async (_title, cache, ttl, seconds) => {
    const { server, clock, asked } = await before(address(ttl), cache)
    const told = async (): Promise<number> => Number((await server.ask('a.example.org. A')).answer[0]!.split(' ')[1])
    expect(await told()).toBe(seconds ?? ttl)
    if (seconds !== undefined) clock.advance(seconds * 1000 - 1)
    await told()
    expect(asked).toHaveLength(seconds === undefined ? 2 : 1)
    clock.advance(1)
    await told()
    expect(asked).toHaveLength(seconds === undefined ? 3 : 2)
  })
})

describe('what is not cached', () => {
  test.each<[string, string, string, number]>([
    ['is what is outside the zones', 'cache example.org', 'a.example.net. A', 2],
    ['is not what is in them', 'cache 30 example.net example.org', 'a.example.org. A', 1],
    ['is what is disabled', 'cache {\ndisable success\n}', 'a.example.org. A', 2],
    ['is what is disabled in zones', 'cache {\ndisable success example.net example.org\n}', 'a.example.org. A', 2],
    ['is not what is outside those', 'cache {\ndisable success example.net\ndisable denial\n}', 'a.example.org. A', 1]
  ])('%s', async (_title, cache, question, times) => {
    const { server, asked } = await before(address(60), cache)
    await server.ask(question)
    await server.ask(question)
    expect(asked).toHaveLength(times)
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['cache 0', 'Corefile:2: cache: expected a TTL in seconds, a whole number from 1 to 2147483647, not "0"'],
    ['cache -1', 'Corefile:2: cache: expected a TTL in seconds, a whole number from 1 to 2147483647, not "-1"'],
    ['cache 30s', 'Corefile:2: cache: expected a TTL in seconds, a whole number from 1 to 2147483647, not "30s"'],
    ['cache 2147483648', 'Corefile:2: cache: expected a TTL in seconds, a whole number from 1 to 2147483647, not "2147483648"'],
    ['cache {\nsuccess\n}', 'Corefile:3: cache: success: expected CAP: a whole number from 1 to 2147483647'],
    ['cache {\nsuccess -5\n}', 'Corefile:3: cache: success: expected a whole number from 1 to 2147483647, not "-5"'],
    ['cache {\ndenial 100 60 -1\n}', 'Corefile:3: cache: denial: expected a whole number from 0 to 2147483647, not "-1"'],
    ['cache 30 {\ndenial 100 20 21\n}', 'Corefile:3: cache: denial: expected a MINTTL of at most the TTL, which is 20, not 21'],
    ['cache {\nservfail 301s\n}', 'Corefile:3: cache: servfail: expected a duration such as 30s or 5m, at most 5m, not "301s"'],
    ['cache {\ndisable all\n}', 'Corefile:3: cache: disable: expected one of success, denial, not "all"'],
    ['cache {\nkeep 60\n}', 'Corefile:3: cache: keep: expected a duration such as 30s or 5m, at least 1s, at most 8760h, not "60"'],
    ['cache {\nkeepttl 5\n}', 'Corefile:3: cache: keepttl: expected no argument, not "5"'],
    ['cache {\nprefetch 10\n}', 'Corefile:3: cache: prefetch: is not supported yet'],
    ['cache {\nserve_stale\n}', 'Corefile:3: cache: serve_stale: is not supported yet'],
    ['cache {\nserve_stale_policy prefer_positive\n}', 'Corefile:3: cache: serve_stale_policy: is not supported yet'],
    ['cache {\nsuccess 1\nsuccess 1\n}', 'Corefile:4: cache: success: stands in line 3 already, expected it once'],
    ['cache\ncache', 'Corefile:3: cache: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (cache, message) => {
    const failed = before(address(60), cache)
    await expect(failed).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: expect.stringMatching(message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    })
  })
})
