import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverOf } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-any-'))
const signs = join(folder, 'node_modules/skein-plugin-signs')
mkdirSync(signs, { recursive: true })
writeFileSync(join(signs, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
writeFileSync(
  join(signs, 'index.js'),
  `export default { name: 'signs', api: 1, schema: { about: 'x', args: [{ name: 'when', type: 'text', about: 'x' }] },
    setup: ({ args: [when] }, host) => ({
      start() {
        const signed = (reply) => reply.with({ answer: [...reply.answer, { owner: reply.answer[0].owner, type: 'TXT', ttl: 1, rdata: ['signed'] }] })
        host.offer({ name: 'signs-replies' }, (query, reply) => {
          if (when === 'fails') return query.fail('SERVFAIL', 'signing-failed')
          return when === 'now' ? signed(reply) : Promise.resolve().then(() => signed(reply))
        })
      }
    }) }`
)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

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

describe('with DO the short answer is given through who offers to sign replies', () => {
  const short = (rest = ''): string[] => [`example.org. 8482${rest} HINFO "ANY obsoleted" "See RFC 8482"`]
  const signed = [...short(), 'example.org. 1 TXT "signed"']
  test.each<[string, string, string, boolean, string, string[]]>([
    ['at once', 'signs now', 'example.org. ANY', true, 'NOERROR', signed],
    ['later', 'signs later', 'example.org. ANY', true, 'NOERROR', signed],
    ['also where that fails', 'signs fails', 'example.org. ANY', true, 'SERVFAIL', []],
    ['not without DO', 'signs now', 'example.org. ANY', false, 'NOERROR', short()],
    ['not in another class', 'signs now', 'example.org. ANY CH', true, 'NOERROR', short(' CH')],
    ['not where nobody offers it', '', 'example.org. ANY', true, 'NOERROR', short()]
  ])('%s', async (_, line, question, dnssecOk, rcode, answer) => {
    const server = await serverOf(`. {\n  any\n  ${line}\n}`, { file: join(folder, 'Corefile') })
    // Once more, when it is known who does.
    for (let i = 0; i < 2; i++) expect(await server.ask(question, { dnssecOk })).toMatchObject({ rcode, answer })
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
