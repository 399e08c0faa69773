/** docs/reasons.md is true: it has the reasons that the code has, with what is told of them, and where they are given. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { REASONS } from '../src/message/reasons.js'
import { serverOf } from '../src/testing.js'
import { isCode, isTest, repositoryFiles, root } from './rules/source-file.js'

interface Row {
  readonly reason: string
  readonly rcodes: readonly string[]
  readonly places: readonly string[]
  readonly info: string
  readonly about: string
}

const page = readFileSync(join(root, 'docs/reasons.md'), 'utf8')
const rows: Row[] = [...page.matchAll(/^\| `(.+?)` \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$/gm)].map(
  ([, reason = '', rcodes = '', places = '', info = '', about = '']) => ({
    reason,
    rcodes: rcodes.split(', '),
    places: places.split(', '),
    info,
    about
  })
)

interface Given {
  readonly reason: string
  readonly place: string
  readonly rcode: string | undefined
}

// Upstreams of tests are none of ours.
const shipped = repositoryFiles().filter(
  (file) => isCode(file) && /^(src|plugins)\//.test(file.path) && !isTest(file) && !file.path.endsWith('/scripted-upstream.ts')
)

/** Each reason that stands in the code, with its rcode where that stands beside it. */
const given: Given[] = shipped.flatMap(({ path, text }) => {
  const place = path.startsWith('plugins/') ? path.split('/')[1]! : path.split('/').slice(0, 2).join('/')
  const failed = [...text.matchAll(/\bquery\.fail\(\s*'(\w+)',\s*'([^']+)'/g)].map(([, rcode, reason = '']) => ({ reason, place, rcode }))
  const others = [...text.matchAll(/(?:\bwhy: |\btoldAs\()'([^']+)'/g)].map(([, reason = '']) => ({ reason, place, rcode: undefined }))
  return [...failed, ...others]
})

describe('docs/reasons.md', () => {
  test('has the reasons that the code has, in order, with what is told of them', () => {
    expect(rows.map(({ reason, info, about }) => [reason, info, about])).toEqual(
      Object.entries(REASONS)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([reason, { info, about }]) => [reason, String(info ?? '–'), about])
    )
  })

  test('says where each is given, and no other is given', () => {
    const places = (reason: string): string[] => [...new Set(given.filter((one) => one.reason === reason).map(({ place }) => place))].sort()
    expect([...new Set(given.map(({ reason }) => reason))].sort()).toEqual(rows.map(({ reason }) => reason))
    expect(rows.map(({ reason }) => [reason, places(reason)])).toEqual(rows.map((row) => [row.reason, row.places]))
  })

  test('says with which rcode', () => {
    const rcodesOf = new Map(rows.map(({ reason, rcodes }) => [reason, rcodes]))
    const wrong = given.filter(({ reason, rcode }) => rcode !== undefined && !rcodesOf.get(reason)?.includes(rcode))
    expect(wrong).toEqual([])
    expect(given.filter(({ rcode }) => rcode !== undefined).length).toBeGreaterThan(10)
  })

  test('misses none, as each stands where it is given', () => {
    const calls = shipped.flatMap(({ path, text }) =>
      [...text.matchAll(/\bquery\.fail\(\s*(?!'\w+',\s*'[a-z0-9-]{1,32}')[^)]*\)/g)].map(([call]) => `${path}: ${call}`)
    )
    expect(calls).toEqual([])
  })
})

test.each([
  ['a server block without plugins', '', 'example.org. A', 'REFUSED', ['20 not-served']],
  ['a name that the zone does not have', 'etcd example.org {\nstore\n}', 'a.example.org. A', 'NXDOMAIN', ['0 no-such-name']],
  ['a name without such records', 'etcd example.org {\nstore\n}', 'example.org. A', 'NOERROR', []],
  ['a type that asks for no records', 'any refuse\nwhoami', 'example.org. ANY', 'REFUSED', ['21 meta-type']],
  [
    'too few labels',
    'forward . 127.0.0.1:9 {\nndots 3\n}',
    'org. A',
    'SERVFAIL',
    ['0 ndots: names of fewer than 3 labels are not forwarded']
  ]
])('%s is told to clients that have EDNS', async (_title, lines, question, rcode, reasons) => {
  const server = await serverOf(`. {\n${lines}\n}`, { services: {} })
  const told = await server.ask(question, { edns: 1232 })
  const plain = await server.ask(question)
  await server.stop()
  const options = told.edns!.options.map(([, payload]) => `${payload[1]} ${Buffer.from(payload.subarray(2)).toString()}`)
  expect([told.rcode, options]).toEqual([rcode, reasons])
  expect([plain.rcode, plain.edns]).toEqual([rcode, undefined])
})
