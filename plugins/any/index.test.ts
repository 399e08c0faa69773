import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'

const META = ['ANY', 'AXFR', 'IXFR', 'MAILA', 'MAILB', 'TYPE128', 'TYPE200', 'TSIG', 'TKEY']

describe('a question for type ANY', () => {
  test('is answered shortly, with a TTL that keeps it away', async () => {
    const server = await serverOf('. {\n  whoami\n  any\n}')
    expect(await server.ask('wWw.example.org. ANY')).toMatchObject({
      rcode: 'NOERROR',
      flags: 'aa rd',
      answer: ['wWw.example.org. 8482 HINFO "ANY obsoleted" "See RFC 8482"'],
      authority: [],
      additional: []
    })
    expect((await server.ask('example.org. ANY CH')).answer).toEqual(['example.org. 8482 CH HINFO "ANY obsoleted" "See RFC 8482"'])
    await server.stop()
  })

  test.each(['A', 'TYPE127', 'TYPE256', 'MAILB', 'AXFR'])('and %s goes on', async (type) => {
    const server = await serverOf('. {\n  any\n  whoami\n}')
    expect((await server.ask(`example.org. ${type}`)).additional).toHaveLength(2)
    await server.stop()
  })
})

describe('with `refuse` types that ask for no records of a type are refused', () => {
  test.each(META.flatMap((type) => [type, `${type} CH`]))('%s', async (type) => {
    const server = await serverOf('. {\n  any refuse\n  log "{common} {why}"\n  whoami\n}')
    expect(await server.ask(`example.org. ${type}`)).toMatchObject({ rcode: 'REFUSED', flags: 'rd', answer: [], additional: [] })
    expect(server.log.lines).toEqual([expect.stringMatching(/REFUSED qr,rd 29 .* meta-type$/)])
    await server.stop()
  })

  test.each(['A', 'TYPE127', 'TYPE256', 'HINFO'])('and %s is not', async (type) => {
    const server = await serverOf('. {\n  any refuse\n  whoami\n}')
    expect((await server.ask(`example.org. ${type}`)).rcode).toBe('NOERROR')
    await server.stop()
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['any all', 'Corefile:2: any: expected no argument or refuse, not "all"'],
    ['any refuse all', 'Corefile:2: any: expected at most 1 argument, not "all"'],
    ['any {\n  }', 'Corefile:2: any: takes no block in braces'],
    ['any\n  any', 'Corefile:3: any: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})
