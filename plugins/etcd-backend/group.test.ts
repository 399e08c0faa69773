import { describe, expect, test } from 'vitest'
import { distinct, grouped, lowestTtl } from './group.js'
import type { Service } from './service.js'

const base: Service = {
  key: [],
  modified: 1,
  host: undefined,
  port: 0,
  priority: 0,
  weight: 0,
  text: '',
  mail: false,
  ttl: 60,
  originalTtl: 3600,
  targetStrip: 0,
  group: ''
}

/** A service by its path, and its group behind a colon. */
function service(text: string): Service {
  const [path = '', group = ''] = text.split(':')
  return { ...base, key: path.split('/'), group }
}

const shown = ({ key, group }: Service): string => key.join('/') + (group === '' ? '' : `:${group}`)

describe('the group of the shortest key that has one decides', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['no groups', ['a', 'a/b', 'a/b/c'], ['a', 'a/b', 'a/b/c']],
    ['others of another group go', ['a:1', 'a/b:1', 'a/c:2'], ['a:1', 'a/b:1']],
    ['those without stay', ['a:1', 'a/b', 'a/c:2'], ['a:1', 'a/b']],
    ['the shortest need not be the first', ['a/b/c:2', 'a/d:1', 'a/b/e:1'], ['a/d:1', 'a/b/e:1']],
    ['a shorter key without a group says nothing', ['a', 'a/b:1', 'a/b/c:2'], ['a', 'a/b:1']],
    ['two groups on the shortest level: all stay', ['a/b:1', 'a/c:2', 'a/b/d:3'], ['a/b:1', 'a/c:2', 'a/b/d:3']],
    ['two on the shortest level, one twice', ['a/b:1', 'a/c:2', 'a/d:1'], ['a/b:1', 'a/c:2', 'a/d:1']],
    ['two on a deeper level are no matter', ['a/b/c:2', 'a/b/d:3', 'a/e:1'], ['a/e:1']],
    ['one group alone', ['a/b/c:1', 'x'], ['a/b/c:1', 'x']],
    ['nothing at all', [], []]
  ])('%s', (_title, services, left) => {
    expect(grouped(services.map(service)).map(shown)).toEqual(left)
    expect([...grouped([...services].reverse().map(service))].map(shown).sort()).toEqual([...left].sort())
  })
})

describe('services that say the same count once', () => {
  const host = { kind: 'A', address: '192.0.2.1' } as const

  test('the first stays, with the lowest TTL', () => {
    const one = { ...base, key: ['1'], host, ttl: 60 }
    expect(distinct([one, { ...one, key: ['2'], ttl: 30 }, { ...one, key: ['3'], ttl: 90 }])).toEqual([{ ...one, ttl: 30 }])
  })

  test.each<[string, Partial<Service>, number]>([
    ['another host', { host: { kind: 'A', address: '192.0.2.2' } }, 2],
    ['no host', { host: undefined }, 2],
    ['another port', { port: 1 }, 2],
    ['another priority', { priority: 10 }, 2],
    ['another weight', { weight: 100 }, 2],
    ['another text', { text: ' ' }, 2],
    ['another mail, group, strip or TTL', { mail: true, group: 'g', targetStrip: 1, ttl: 1 }, 1]
  ])('and %s', (_title, change, count) => {
    expect(
      distinct([
        { ...base, host },
        { ...base, host, ...change }
      ])
    ).toHaveLength(count)
  })

  test('and more of them than a call can have arguments', () => {
    const many = Array.from({ length: 200_000 }, (_, port) => ({
      ...base,
      port: port % 60_000,
      key: [String(port)],
      group: 'g',
      ttl: 5 + port
    }))
    expect(distinct(grouped(many))).toHaveLength(60_000)
    expect(lowestTtl(many)).toBe(5)
  })
})
