import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requestOctets, serverOf } from 'skein/testing'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'skein-errors-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let installed = 0

/** Installs a plugin whose handler is this text; gives its directive. */
function plugin(handle: string): string {
  const name = `fake-${++installed}`
  const at = join(folder, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }))
  writeFileSync(join(at, 'index.js'), `export default { name: '${name}', api: 1, classes: ['*'], setup: () => ({ handle: ${handle} }) }`)
  return name
}

async function outcome(
  handle: string,
  question = 'example.org. A'
): Promise<{ rcode: string; lines: readonly string[]; count: number | undefined }> {
  const server = await serverOf(`. {\n  errors\n  ${plugin(handle)}\n}`, { file: join(folder, 'Corefile') })
  const { rcode } = await server.ask(question)
  await server.stop()
  return { rcode, lines: server.log.lines, count: server.counter('skein_errors_total') }
}

describe('a failure is SERVFAIL, a line and a count', () => {
  test.each<[string, string, string]>([
    ['thrown', '() => { throw new Error("boom") }', 'boom'],
    ['thrown later', 'async () => { await null; throw new Error("boom") }', 'boom'],
    ['thrown, and no error', '() => { throw "boom" }', 'boom'],
    ['thrown over several lines', '() => { throw new Error("a\\nb\\u0000\\u001bc\\r\\n  d") }', 'a b c d'],
    ['thrown, without a text', '() => { throw Object.create(null) }', 'something without a text'],
    [
      'of an upstream',
      '(query) => query.fail("SERVFAIL", "upstream-failed", { problem: "read udp 127.0.0.1:4711->192.0.2.1:53: i/o timeout" })',
      'read udp 127.0.0.1:4711->192.0.2.1:53: i/o timeout'
    ],
    ['with an error instead of a text', '(query) => query.fail("SERVFAIL", "x", { problem: new Error("boom") })', 'boom'],
    ['with a number instead of a text', '(query) => query.fail("SERVFAIL", "x", { problem: 0 })', '0'],
    [
      'with something that has no text',
      '(query) => query.fail("SERVFAIL", "x", { problem: Object.create(null) })',
      'something without a text'
    ],
    [
      'whose text cannot be read',
      '() => { throw Object.defineProperty(new Error(), "message", { get() { throw new Error("worse") } }) }',
      'something without a text'
    ],
    [
      'that cannot even be told from no error',
      '() => { throw new Proxy({}, { getPrototypeOf() { throw new Error("worse") } }) }',
      'something without a text'
    ],
    ['thrown, and nothing at all', '() => { throw undefined }', 'undefined'],
    ['of an upstream, later', 'async (query) => query.fail("SERVFAIL", "upstream-failed", { problem: "x" })', 'x']
  ])('%s', async (_title, handle, text) => {
    expect(await outcome(handle)).toEqual({ rcode: 'SERVFAIL', lines: [`[ERROR] plugin/errors: 2 example.org. A: ${text}`], count: 1 })
  })

  test('whose line has the rcode that it is answered with', async () => {
    const refused = await outcome('(query) => query.fail("REFUSED", "too-many", { problem: "busy" })')
    expect(refused).toMatchObject({ rcode: 'REFUSED', lines: ['[ERROR] plugin/errors: 5 example.org. A: busy'] })
  })

  test('whose line is one line, whatever octet the name has', async () => {
    const server = await serverOf(`. {\n  errors\n  ${plugin('() => { throw new Error("boom") }')}\n}`, { file: join(folder, 'Corefile') })
    for (let octet = 0; octet < 256; octet++) await server.ask(`a\\${String(octet).padStart(3, '0')}b. A`)
    await server.stop()
    expect(server.log.lines).toHaveLength(256)
    for (const line of server.log.lines) expect(line).toMatch(/^\[ERROR\] plugin\/errors: 2 a[!-~]{1,4}b\. A: boom$/)
  })

  test('whose line is one line, whatever the name', async () => {
    const { lines } = await outcome('() => { throw new Error("boom") }', 'a\\010\\000\\"\\\\b.example.org. TYPE65280 CH')
    expect(lines).toEqual(['[ERROR] plugin/errors: 2 a\\010\\000\\"\\\\b.example.org. TYPE65280: boom'])
  })
})

describe('no line is written', () => {
  test.each<[string, string, string]>([
    ['for an answer', '(query) => query.reply({})', 'NOERROR'],
    ['for SERVFAIL without a problem', '(query) => query.fail("SERVFAIL", "ndots")', 'SERVFAIL'],
    ['for a refusal at the end', '(query, next) => next(query)', 'REFUSED']
  ])('%s', async (_title, handle, rcode) => {
    expect(await outcome(handle)).toEqual({ rcode, lines: [], count: 0 })
  })

  test('for a message without a question, or with several, which reaches no plugin that could throw', async () => {
    const server = await serverOf(`. {\n  errors\n  ${plugin('() => { throw new Error("boom") }')}\n}`, { file: join(folder, 'Corefile') })
    for (const count of [0, 2, 255]) {
      const request = requestOctets('example.org. A').map((octet, at) => (at === 5 ? count : octet))
      expect((await server.exchange(request))?.[3]).toBe(1)
    }
    expect([server.log.lines, server.counter('skein_errors_total')]).toEqual([[], 0])
    await server.stop()
  })

  test('for a drop', async () => {
    const server = await serverOf(`. {\n  errors\n  ${plugin('() => Symbol.for("skein.drop")')}\n}`, { file: join(folder, 'Corefile') })
    await expect(server.ask('example.org. A')).rejects.toThrow('no reply')
    expect(server.log.lines).toEqual([])
    await server.stop()
  })
})

describe('the stack of what a plugin throws', () => {
  const thrown = '() => { throw new Error("boom\\n    at forged\\n[INFO] forged") }'
  const line = '[ERROR] plugin/errors: 2 example.org. A: boom at forged [INFO] forged'

  async function linesOf(block: string, handle: string): Promise<readonly string[]> {
    const server = await serverOf(`. {\n  ${block}\n  ${plugin(handle)}\n}`, { file: join(folder, 'Corefile') })
    await server.ask('example.org. A')
    await server.stop()
    return server.log.lines
  }

  test.each<[string, string, string]>([
    ['is below its line with stacktrace', 'errors {\n    stacktrace\n  }', 'ERROR'],
    ['is there for debugging without', 'errors\n  debug', 'DEBUG']
  ])('%s', async (_title, block, level) => {
    const [first, ...stack] = await linesOf(block, thrown)
    expect(first).toBe(line)
    expect(stack.length).toBeGreaterThan(1)
    for (const one of stack) expect(one).toMatch(new RegExp(`^\\[${level}\\] plugin/errors: +at \\S`))
    expect(stack.join()).toMatch(/skein-plugin-fake-\d+\/index\.js:1:\d+/)
  })

  test.each<[string, string, string]>([
    ['is not there without either', 'errors', thrown],
    [
      'is none of a failure that was expected',
      'errors {\n    stacktrace\n  }',
      '(query) => query.fail("SERVFAIL", "x", { problem: new Error("boom") })'
    ],
    ['is none of what has none', 'errors {\n    stacktrace\n  }', '() => { throw "boom" }'],
    [
      'is none that cannot be read',
      'errors {\n    stacktrace\n  }',
      '() => { throw Object.defineProperty(new Error("boom"), "stack", { get() { throw new Error("worse") } }) }'
    ],
    [
      'is none that is no text',
      'errors {\n    stacktrace\n  }',
      '() => { throw Object.assign(new Error("boom"), { stack: Object.create(null) }) }'
    ]
  ])('%s', async (_title, block, handle) => {
    expect((await linesOf(block, handle)).map((one) => one.replace(/ at forged.*/, ''))).toEqual([
      '[ERROR] plugin/errors: 2 example.org. A: boom'
    ])
  })
})

describe('what is no reply is told of, and what is missing', () => {
  test.each(['() => {}', 'async () => {}', '() => null', '() => ({})'])('%s', async (handle) => {
    const { rcode, lines } = await outcome(handle)
    expect(rcode).toBe('SERVFAIL')
    expect(lines).toEqual(['[ERROR] plugin/errors: 2 example.org. A: a plugin returned no reply: did it forget to return next(query)?'])
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ['errors stderr', 'Corefile:2: errors: expected no argument or stdout, not "stderr"'],
    ['errors stdout x', 'Corefile:2: errors: expected at most 1 argument, not "x"'],
    ['errors {\n    stacktrace on\n  }', 'Corefile:3: errors: stacktrace: expected no argument, not "on"'],
    ['errors {\n    stacktrace\n    stacktrace\n  }', 'Corefile:4: errors: stacktrace: stands in line 3 already, expected it once'],
    ['errors {\n    stacktrace {\n    }\n  }', 'Corefile:3: errors: stacktrace: takes no block in braces'],
    ['errors {\n    stacktraces\n  }', 'Corefile:3: errors: unknown option "stacktraces", did you mean stacktrace?'],
    ['errors\n  errors', 'Corefile:3: errors: may stand only once in a server block, and stands in line 2 already']
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })

  test.each(['errors', 'errors stdout', 'errors {\n}', 'errors {\n stacktrace\n}'])('and %j is none', async (line) => {
    await (await serverOf(`. {\n  ${line}\n}`)).stop()
  })
})
