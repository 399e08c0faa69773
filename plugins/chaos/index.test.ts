import { hostname } from 'node:os'
import { serverOf, type TestOptions } from 'skein/testing'
import { describe, expect, test } from 'vitest'

async function answers(block: string, question: string, options: TestOptions = {}): Promise<string> {
  const server = await serverOf(`. {\n${block}\n}`, options)
  const { rcode, answer, flags } = await server.ask(question)
  await server.stop()
  return answer.length === 0 ? rcode : `${flags}: ${answer.join(' + ')}`
}

const one = { random: { below: (limit: number) => limit - 1 } }

describe('questions of class CH', () => {
  test.each<[string, string, string]>([
    ['chaos', 'version.bind. TXT CH', 'aa rd ra: version.bind. 0 CH TXT "Skein-test"'],
    ['chaos', 'version.server. TXT CH', 'aa rd ra: version.server. 0 CH TXT "Skein-test"'],
    ['chaos', 'Version.BIND. TXT CH', 'aa rd ra: Version.BIND. 0 CH TXT "Skein-test"'],
    ['chaos "Example DNS" a', 'version.bind. TXT CH', 'aa rd ra: version.bind. 0 CH TXT "Example DNS"'],
    ['chaos ""', 'version.bind. TXT CH', 'aa rd ra: version.bind. 0 CH TXT ""'],
    ['chaos', 'hostname.bind. TXT CH', 'aa rd ra: hostname.bind. 0 CH TXT "localhost"'],
    ['chaos', 'id.server. TXT CH', 'aa rd ra: id.server. 0 CH TXT "localhost"'],
    ['chaos {\nhostname ns1.example\n}', 'id.server. TXT CH', 'aa rd ra: id.server. 0 CH TXT "ns1.example"'],
    ['chaos {\nhostname auto\n}', 'id.server. TXT CH', `aa rd ra: id.server. 0 CH TXT "${hostname()}"`],
    ['chaos 1 a b a', 'authors.bind. TXT CH', 'aa rd ra: authors.bind. 0 CH TXT "a" + authors.bind. 0 CH TXT "b"'],
    ['chaos', 'version.bind. A CH', 'REFUSED'],
    ['chaos', 'version.bind. TXT HS', 'REFUSED'],
    ['chaos', 'version.bind. TXT IN', 'REFUSED'],
    ['chaos', 'other.bind. TXT CH', 'REFUSED'],
    ['chaos', 'x.version.bind. TXT CH', 'REFUSED'],
    ['chaos', '. TXT CH', 'REFUSED']
  ])('%j: %s', async (block, question, expected) => {
    expect(await answers(block, question, one)).toBe(expected)
  })

  test('have the authors at the apexes that etcd serves, but for reverse zones', async () => {
    const server = await serverOf(
      '. {\n  chaos 1 a\n  etcd Skydns.local example.org in-addr.arpa {\n    store\n  }\n}\nexample.net {\n  chaos\n}'
    )
    const questions = ['skydns.local.', 'example.org.', 'in-addr.arpa.', 'x.example.org.', 'example.net.']
    const rcodes = await Promise.all(questions.map(async (name) => (await server.ask(`${name} TXT CH`)).rcode))
    expect(rcodes).toEqual(['NOERROR', 'NOERROR', 'REFUSED', 'REFUSED', 'REFUSED'])
    await server.stop()
  })

  test('have texts of 255 octets at most', async () => {
    const server = await serverOf(`. {\n  chaos ${'é'.repeat(200)}\n}`)
    expect((await server.ask('version.bind. TXT CH', { edns: 4096 })).answer[0]).toHaveLength('version.bind. 0 CH TXT ""'.length + 255 * 4)
    await server.stop()
  })
})

describe('the four authors of SkyDNS', () => {
  const names = ['Erik St. Martin', 'Brian Ketelsen', 'Miek Gieben', 'Michael Crosby']
  const order = async (below: (limit: number) => number): Promise<readonly string[]> => {
    const server = await serverOf('. {\n  chaos\n}', { random: { below } })
    const { answer } = await server.ask('authors.bind. TXT CH')
    await server.stop()
    return answer.map((record) => /"(.*)"/.exec(record)![1]!)
  }

  test('stand in an order that the random numbers decide, each of them once', async () => {
    expect(await order((limit) => limit - 1)).toEqual(names)
    expect(await order(() => 0)).toEqual(['Brian Ketelsen', 'Miek Gieben', 'Michael Crosby', 'Erik St. Martin'])
    const limits: number[] = []
    await order((limit) => {
      limits.push(limit)
      return 0
    })
    expect(limits).toEqual([4, 3, 2])
  })

  test('come in a new order each time', async () => {
    const server = await serverOf('. {\n  chaos\n}')
    const seen = new Set<string>()
    for (let i = 0; i < 100; i++) seen.add((await server.ask('authors.bind. TXT CH')).answer.join())
    expect(seen.size).toBeGreaterThan(5)
    await server.stop()
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['chaos {\n    hostname\n  }', 'Corefile:3: chaos: hostname: expected a name, or `auto` for that of the machine, not nothing'],
    ['chaos {\n    hostname a b\n  }', 'Corefile:3: chaos: hostname: expected at most 1 argument, not "b"'],
    ['chaos {\n    hostname a {\n    }\n  }', 'Corefile:3: chaos: hostname: takes no block in braces'],
    ['chaos {\n    hostname a\n    hostname b\n  }', 'Corefile:4: chaos: hostname: stands in line 3 already, expected it once'],
    ['chaos 1.0 {\n    authors alice\n  }', 'Corefile:3: chaos: unknown option "authors", expected one of hostname'],
    ['chaos {\n    hostnam a\n  }', 'Corefile:3: chaos: unknown option "hostnam", did you mean hostname?']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
