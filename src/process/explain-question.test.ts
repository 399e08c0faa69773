import { serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { shown } from '../corefile/directive.js'
import { explain } from './explain.js'
import { type Asked, askedOf } from './explain-question.js'

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function server(corefile = '. {\n  whoami\n}'): Promise<TestServer> {
  const started = await serverOf(corefile, { services: {}, clock: new TestClock() })
  servers.push(started)
  return started
}

describe('a question that cannot be asked is one line', () => {
  const [label, long] = ['x'.repeat(63), 'x'.repeat(64)]
  const name = (given: string): [Asked, string] => [
    { name: given, type: 'A' },
    `explain: expected a name such as www.example.org, not ${given === '' ? 'nothing' : shown(given)}`
  ]

  test.each<[asked: Asked, message: string]>([
    name(''),
    name('a..b'),
    name('.a'),
    name('a\\'),
    name('a\\999'),
    name(long),
    name(`${label}.${label}.${label}.${label}`),
    [{ name: 'a', type: 'AAAAA' }, 'explain: expected a type such as A or TYPE65, not "AAAAA"'],
    [{ name: 'a', type: '65' }, 'explain: expected a type such as A or TYPE65, not "65"'],
    [{ name: 'a', type: 'TYPE65536' }, 'explain: expected a type such as A or TYPE65, not "TYPE65536"'],
    [{ name: 'a', type: '' }, 'explain: expected a type such as A or TYPE65, not nothing'],
    [{ name: 'a', type: 'A', class: 'X' }, 'explain: expected a class such as IN or CH, not "X"'],
    [{ name: 'a', type: 'A', client: 'me' }, 'explain: expected an address as client, not "me"'],
    [{ name: 'a', type: 'A', client: '192.0.2.1%eth0' }, 'explain: expected an address as client, not "192.0.2.1%eth0"'],
    ...['192.0.2.1:53', '192.0.2.1', ':54', '127.0.0.1:99999', 'localhost', '[::1', '::1]:53', ''].map((at): [Asked, string] => [
      { name: 'a', type: 'A', at },
      `explain: expected an address that the server listens on, one of 0.0.0.0:53, [::]:53, not ${at === '' ? 'nothing' : JSON.stringify(at)}`
    ])
  ])('%j', async (asked, message) => {
    const { instance } = await server()
    await expect(explain(instance, asked)).rejects.toThrow(message)
  })
})

describe('a question is shown as it is asked', () => {
  test.each<[asked: Omit<Asked, 'type'> & { type?: string }, question: string, client?: string]>([
    [{ name: 'WWW.example.ORG' }, 'www.example.org. A'],
    [{ name: '.' }, '. A'],
    [{ name: 'x', type: 'type28' }, 'x. AAAA'],
    [{ name: 'x', type: 'TYPE65535' }, 'x. TYPE65535'],
    [{ name: 'x', class: 'class3' }, 'x. A CH'],
    [{ name: 'x', class: 'CLASS1' }, 'x. A'],
    [{ name: 'a\\.b\\000\\"."c"' }, 'a\\.b\\000\\".\\"c\\". A'],
    [{ name: 'Bücher.example' }, 'xn--bcher-kva.example. A'],
    [{ name: `${'x'.repeat(63)}.${'x'.repeat(63)}.${'x'.repeat(63)}.${'x'.repeat(61)}` }, expect.stringMatching(/^x{63}.*\. A$/)],
    // As the sockets tell of who asks.
    [{ name: 'x', client: '2001:DB8:0::1' }, 'x. A', '2001:db8::1'],
    [{ name: 'x', client: '::ffff:192.0.2.1' }, 'x. A', '192.0.2.1'],
    [{ name: 'x', client: '::ffff:c000:201' }, 'x. A', '192.0.2.1'],
    [{ name: 'x', client: 'FE80::1%eth0' }, 'x. A', 'fe80::1%eth0']
  ])('%j', async (asked, question, client = '127.0.0.1') => {
    const explained = await explain((await server()).instance, { type: 'A', ...asked })
    expect([explained.question, explained.pass?.question, explained.client]).toEqual([question, question, client])
  })
})

describe('DO in a call', () => {
  test.each<[given: string | undefined, wantsDo: boolean]>([
    ['1', true],
    ['true', true],
    ['0', false],
    ['false', false],
    [undefined, false]
  ])('%s is read', (given, wantsDo) => {
    expect(askedOf(new Map(given === undefined ? [] : [['do', given]])).do).toBe(wantsDo)
  })

  test.each(['yes', '2', 'TRUE', ''])('%j is refused', (given) => {
    expect(() => askedOf(new Map([['do', given]]))).toThrow(/^explain: expected do to be 1 or 0, not /)
  })
})

describe('the address that is asked', () => {
  const corefile = `a.test {\n  bind 127.0.0.1\n  whoami\n}\nb.test {\n  bind ::1\n  whoami\n}\nc.test:5353 {\n  whoami\n}`

  test.each<[asked: Partial<Asked>, at: string]>([
    [{ name: 'x.b.test' }, '[::1]:53'],
    [{ name: 'x.a.test' }, '127.0.0.1:53'],
    [{ name: 'elsewhere.test' }, '127.0.0.1:53'],
    [{ name: 'c.test', client: '2001:db8::1' }, '[::]:5353'],
    [{ name: 'c.test' }, '0.0.0.0:5353'],
    [{ name: 'c.test', at: '::1' }, '[::1]:53'],
    [{ name: 'c.test', at: '[::1]:53' }, '[::1]:53'],
    [{ name: 'c.test', at: '0:0::1' }, '[::1]:53'],
    [{ name: 'c.test', at: '[0::1]:53' }, '[::1]:53'],
    [{ name: 'c.test', at: '[::]:5353' }, '[::]:5353'],
    [{ name: 'c.test', at: ':5353' }, '0.0.0.0:5353'],
    [{ name: 'c.test', at: '127.0.0.1:5353' }, '0.0.0.0:5353']
  ])('%j', async (asked, at) => {
    expect((await explain((await server(corefile)).instance, { name: '', type: 'A', ...asked })).at).toBe(at)
  })

  test('where no server block there has the name, no chain is asked', async () => {
    const { pass, reply } = await explain((await server(corefile)).instance, { name: 'elsewhere.test', type: 'A' })
    expect([pass, reply?.rcode]).toEqual([undefined, 'REFUSED'])
  })
})
