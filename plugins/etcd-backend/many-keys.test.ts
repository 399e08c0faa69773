import type { Entry } from 'skein/plugin'
import { MemoryStore, serverOf, type TestServer } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'

let server: TestServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

async function start(store: MemoryStore, first = ''): Promise<void> {
  server = await serverOf(`. {\n  ${first}\n  etcd skydns.local {\n    store\n  }\n}`, { services: store })
}

const key = (...labels: string[]): string[] => ['skydns', 'local', 'skydns', ...labels]

describe('of a name with more keys than a look-up takes', () => {
  class Full extends MemoryStore {
    valuesRead = 0
    readonly #full: readonly Entry[]

    constructor(prefix: readonly string[], value: (i: number) => string) {
      super()
      const read = (i: number): Buffer => {
        this.valuesRead++
        return Buffer.from(value(i))
      }
      this.#full = Array.from({ length: 4100 }, (_, i) => ({
        key: [...prefix, `n${i}`],
        get value() {
          return read(i)
        },
        created: 1,
        modified: 1,
        expires: undefined
      }))
    }

    override subtree(asked: readonly string[], limit?: number): Entry[] {
      return this.#full.filter(({ key: full }) => asked.every((segment, i) => segment === full[i])).slice(0, limit)
    }
  }
  const cut = '[WARNING] plugin/etcd: more than 4000 keys are at or below /skydns/local/skydns/big; those after the first 4000 are left out'
  const host = (i: number): string => `{"host":"10.0.${i >> 8}.${i & 255}","port":${i}}`

  test('those first in key order answer, and a line says so once', async () => {
    await start(new Full(key('big'), host))
    for (let i = 0; i < 2; i++) {
      const { answer } = await server!.ask('big.skydns.local. A', { client: { transport: 'tcp' } })
      expect(answer).toHaveLength(4000)
    }
    expect(server!.log.lines).toEqual([cut])
  })

  test.each(['LOC', 'NS', 'SOA', 'CNAME', 'PTR', 'DS', 'TYPE65280'])('no value is read to say that it has no %s', async (type) => {
    const store = new Full(key('big'), host)
    await start(store)
    // The apex has an SOA.
    const names = ['big.', '*.big.', 'n5.*.', ...(type === 'SOA' ? [] : [''])]
    for (const name of names) expect(await server!.ask(`${name}skydns.local. ${type}`)).toMatchObject({ rcode: 'NOERROR', answer: [] })
    expect([store.valuesRead, server!.log.lines]).toEqual([0, []])
  })

  test('a pattern that matches none of those is no answer, for one behind them may match', async () => {
    await start(new Full(key('big'), host), 'errors')
    const { rcode, edns } = await server!.ask('n5.*.big.skydns.local. A', { edns: 1232 })
    expect([rcode, edns?.options.map(([code, text]) => [code, Buffer.from(text).toString('latin1')])]).toEqual([
      'SERVFAIL',
      [[15, '\0\0too-many']]
    ])
    expect(server!.log.lines).toEqual([
      cut,
      '[ERROR] plugin/errors: 2 n5.*.big.skydns.local. A: more keys would have to be looked at for n5.*.big.skydns.local. than the 4000 that a look-up takes'
    ])
    expect((await server!.ask('n5.*.skydns.local. A')).answer).toEqual(['n5.*.skydns.local. 3600 A 10.0.0.5'])
  })
})

test('a CNAME is looked for below a key only where the key itself has a host name', async () => {
  const store = MemoryStore.of({
    '/skydns/local/skydns/a': { host: '192.0.2.1' },
    '/skydns/local/skydns/a/b': { host: 'x.example' },
    '/skydns/local/skydns/c': { host: 'x.example' },
    '/skydns/local/skydns/c/d': { host: 'X.example.', port: 5 }
  })
  const read: string[] = []
  const subtree = store.subtree.bind(store)
  store.at = (asked) => subtree(asked).filter(({ key: found }) => found.length === asked.length)
  store.has = (asked) => subtree(asked, 1).length > 0
  store.subtree = (asked, limit) => {
    read.push(asked.join('/'))
    return subtree(asked, limit)
  }
  await start(store)
  expect(await server!.ask('a.skydns.local. CNAME')).toMatchObject({ rcode: 'NOERROR', answer: [] })
  expect(await server!.ask('gone.skydns.local. CNAME')).toMatchObject({ rcode: 'NXDOMAIN', answer: [] })
  expect(read).toEqual([])
  expect((await server!.ask('c.skydns.local. CNAME')).answer).toEqual(['c.skydns.local. 3600 CNAME x.example.'])
  expect(read).toEqual(['skydns/local/skydns/c'])
})
