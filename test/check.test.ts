/** `skein check`, `skein convert` and `skein plugins` as operators call them. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { check } from '../src/check/check.js'
import { corefileCases, textOf, verdictOf } from './corefile-cases.js'
import { whySkipped } from './corefile-skips.js'
import { temporaryFolder } from './processes.js'
import { needs, tool } from './tools.js'

const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))
const folder = temporaryFolder()
afterAll(() => folder.remove())

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: folder.path, timeout: 15_000, env: { ...process.env, ...env } }, (error, out, err) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 99, out, err })
    })
  })
}

const skein = (...args: string[]): Promise<Ended> => run(process.execPath, [MAIN, ...args])

/** One of everything that opens something when it starts, and a plugin whose import leaves a trace. */
const COREFILE = `.:1053 {
  bind 127.0.0.1 lo
  prometheus
  errors
  log
  loadbalance
  cache {$SKEIN_TTL}
  stub skydns.test {
    zone lab.test 127.0.0.1:54
    store
  }
  chaos
  import etcd.conf
  hello reader
  forward . resolv.conf
}
`

beforeAll(() => {
  const at = join(folder.path, 'node_modules/skein-plugin-hello')
  mkdirSync(at, { recursive: true })
  writeFileSync(
    join(at, 'package.json'),
    JSON.stringify({ name: 'skein-plugin-hello', version: '1.2.3', description: 'Greets.', type: 'module', exports: './index.js' })
  )
  writeFileSync(
    join(at, 'index.js'),
    `import { writeFileSync } from 'node:fs'
if (process.env.SKEIN_TRACE) writeFileSync(process.env.SKEIN_TRACE, '')
export default {
  name: 'hello', api: 1,
  schema: { about: 'Greets whoever asks.', args: [{ name: 'WHO', type: 'text' }], options: { loud: { about: 'in capitals' } } },
  setup: () => ({ handle: (query, next) => next(query) })
}`
  )
  writeFileSync(join(folder.path, 'Corefile'), COREFILE)
  writeFileSync(join(folder.path, 'etcd.conf'), 'etcd skydns.test {\n  store\n  token hush-hush-hush\n  ttl 60\n}\n')
  writeFileSync(join(folder.path, 'resolv.conf'), 'nameserver 127.0.0.1\n')
  writeFileSync(join(folder.path, 'named.mjs'), "export default { name: 'mine', api: 1, schema: { about: 'Mine.' }, setup: () => ({}) }")
})

describe('skein check', { concurrent: true, timeout: 60_000 }, () => {
  test('prints the chain in its order, and where each option came from', async () => {
    const { code, out, err } = await run(process.execPath, [MAIN, 'check'], { SKEIN_TTL: '30' })
    expect(err).toBe('')
    // The places stand in a column of their own.
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}(?=\S)/).filter((cell) => cell !== ''))
    expect(rows).toEqual([
      ['.:1053 on 127.0.0.1, ::1', 'Corefile:1'],
      ['bind 127.0.0.1 lo', 'Corefile:2'],
      ['prometheus', 'Corefile:3'],
      ['ADDRESS localhost:9153', 'default'],
      ['path /metrics', 'default'],
      ['errors', 'Corefile:4'],
      ['log', 'Corefile:5'],
      ['FORMAT {common}', 'default'],
      ['class all', 'default'],
      ['loadbalance', 'Corefile:6'],
      ['cache 30', 'Corefile:7 (cache {$SKEIN_TTL})'],
      ['servfail 5s', 'default'],
      ['stub skydns.test', 'Corefile:8'],
      ['zone lab.test 127.0.0.1:54', 'Corefile:9'],
      ['store', 'Corefile:10'],
      ['DIR data', 'default'],
      ['chaos', 'Corefile:12'],
      ['hostname localhost', 'default'],
      ['etcd skydns.test', 'etcd.conf:1'],
      ['store', 'etcd.conf:2'],
      ['DIR data', 'default'],
      ['token ***', 'etcd.conf:3'],
      ['ttl 60', 'etcd.conf:4'],
      ['path /skydns', 'default'],
      ['min_ttl 60', 'default'],
      ['priority 10', 'default'],
      ['rcache_ttl 60', 'default'],
      ['version 3', 'default'],
      ['min-lease-ttl 0s', 'default'],
      ['max-lease-ttl 24h', 'default'],
      ['expire 24h', 'default'],
      ['hello reader', 'Corefile:14'],
      ['forward . resolv.conf', 'Corefile:15'],
      ['ndots 0', 'default'],
      ['read_timeout 2s', 'default'],
      [],
      [`imported for hello, so its code has run: ${join(folder.path, 'node_modules/skein-plugin-hello/index.js')}`],
      ['Corefile would start']
    ])
    expect(code).toBe(0)
  })

  test('opens no socket but to the kernel, and writes nothing', needs('strace'), async () => {
    const trace = join(folder.path, 'trace')
    const calls =
      'trace=network,open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,truncate,ftruncate,link,symlink'
    const { code } = await run(tool('strace'), ['-f', '-qq', '-o', trace, '-e', calls, process.execPath, MAIN, 'check'], {
      SKEIN_TTL: '30'
    })
    expect(code).toBe(0)
    const lines = readFileSync(trace, 'utf8').split('\n')
    expect(lines.some((line) => line.includes('resolv.conf'))).toBe(true)
    // The addresses of this machine are asked of the kernel.
    expect(
      lines.filter(
        (line) =>
          /\b(?:socket|socketpair|connect|bind|listen)\(/.test(line) &&
          !line.includes('AF_NETLINK') &&
          !/bind\(\d+, \{sa_family=AF_NETLINK/.test(line)
      )
    ).toEqual([])
    expect(
      lines.filter((line) =>
        /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|\b(?:creat|mkdir|mkdirat|rename\w*|unlink\w*|rmdir|f?truncate|link|symlink)\(/.test(line)
      )
    ).toEqual([])
    expect(existsSync(join(folder.path, 'data'))).toBe(false)
  })

  test('runs no code of a plugin where that is not wanted', async () => {
    const trace = join(folder.path, 'imported')
    const closed = await run(process.execPath, [MAIN, 'check', '-no-plugins'], { SKEIN_TRACE: trace, SKEIN_TTL: '30' })
    expect([closed.code, existsSync(trace)]).toEqual([0, false])
    expect(closed.out).toMatch(/^ {2}hello \(not imported\) +Corefile:14$/m)
    expect(closed.out).not.toContain('reader')
    expect(closed.out).not.toContain('imported for')
    await run(process.execPath, [MAIN, 'check'], { SKEIN_TRACE: trace })
    expect(existsSync(trace)).toBe(true)
  })

  test('prints JSON with lines and columns', async () => {
    writeFileSync(join(folder.path, 'bad'), '. {\n  cache 30\n  log {\n    clas x\n  }\n  forward a..b 192.0.2.1\n  whoami\n}\n')
    const { code, out } = await skein('check', '-conf', 'bad', '-dns.port', '5353', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      starts: false,
      file: 'bad',
      files: ['bad'],
      blocks: [
        {
          keys: [{ text: '.', zone: '.', port: 5353 }],
          addresses: ['0.0.0.0', '::'],
          at: { file: 'bad', line: 1, column: 1 },
          chain: [
            {
              name: 'cache',
              plugin: 'cache',
              arguments: ['30'],
              at: { file: 'bad', line: 2, column: 3 },
              options: [{ name: 'servfail', arguments: ['5s'], options: [] }]
            },
            { name: 'whoami', plugin: 'whoami', at: { file: 'bad', line: 7, column: 3 } }
          ]
        }
      ],
      findings: [
        {
          severity: 'error',
          code: 'configuration',
          file: 'bad',
          line: 4,
          column: 5,
          problem: expect.stringContaining('unknown option "clas"')
        },
        { severity: 'error', code: 'configuration', file: 'bad', line: 6, column: 3, problem: expect.stringContaining('a..b') }
      ]
    })
  })

  test('shows no secret, be it from a variable', async () => {
    writeFileSync(
      join(folder.path, 'secret'),
      '.:1053 {\n  bind 127.0.0.1\n  etcd a {\n    store\n    token before{$SKEIN_TOKEN}\n  }\n}\n'
    )
    for (const form of [[], ['-json']]) {
      const { code, out } = await run(process.execPath, [MAIN, 'check', '-conf', 'secret', ...form], { SKEIN_TOKEN: 'hush-hush' })
      expect([code, /before|hush/.test(out), out.includes('***')]).toEqual([0, false, true])
    }
  })

  test('prints JSON where there is nothing to read', async () => {
    const { code, out } = await skein('check', '-conf', 'nothere', '-json')
    expect([code, JSON.parse(out)]).toEqual([
      1,
      {
        starts: false,
        file: 'nothere',
        files: [],
        blocks: [],
        imported: [],
        findings: [{ severity: 'error', code: 'configuration', problem: 'cannot read the Corefile nothere: there is no such file' }]
      }
    ])
  })

  test.each<[string, string[], RegExp]>([
    ['a word', ['check', 'Corefile'], /^skein: check: expected flags alone, not "Corefile"\n$/],
    [
      'a flag of another command',
      ['check', '-quiet'],
      /^skein: unknown flag -quiet, expected one of -conf, -dns\.port, -json, -no-plugins, -help\n$/
    ],
    [
      'a slip in the command',
      ['chekc'],
      /^skein: unknown command "chekc", expected one of run, check, convert, plugins, explain, reload, kv, keys, skydns, help, version: did you mean check\?\n$/
    ]
  ])('and a command line that is wrong costs one line: %s', async (_title, args, says) => {
    const { code, err } = await skein(...args)
    expect([code, err]).toEqual([2, expect.stringMatching(says)])
  })
})

test('skein convert prints the other form, and warns of names that it cannot know', async () => {
  const toml = await skein('convert')
  expect([toml.code, toml.err]).toEqual([0, ''])
  expect(toml.out).toContain('cache = "{$SKEIN_TTL}"')
  expect(toml.out).toContain('[server.hello]\nwho = "reader"')
  writeFileSync(join(folder.path, 'skein.toml'), toml.out)
  const back = await skein('convert', '-conf', 'skein.toml')
  expect(back.out).toBe(
    COREFILE.replace('  import etcd.conf\n', '  etcd skydns.test {\n    store\n    token hush-hush-hush\n    ttl 60\n  }\n')
  )
  const checks = await Promise.all(
    ['Corefile', 'skein.toml'].map((conf) => run(process.execPath, [MAIN, 'check', '-conf', conf], { SKEIN_TTL: '30' }))
  )
  const words = checks.map(({ code, out }) => [code, out.replace(/ +\S+:\d+.*$/gm, '').replaceAll('skein.toml', 'Corefile')])
  expect(words[0]).toEqual(words[1])
  writeFileSync(join(folder.path, 'other.toml'), '[[server]]\nkeys = "."\n[server.geo]\ndb = "x"\n')
  const warned = await skein('convert', '-conf', 'other.toml')
  expect([warned.code, warned.out]).toEqual([0, '. {\n  geo {\n    db x\n  }\n}\n'])
  expect(warned.err).toBe('skein: other.toml:3: the plugin of geo is not here, so all that its table has is written as options\n')
})

describe('skein plugins', { concurrent: true, timeout: 60_000 }, () => {
  test('lists what there is, without running any of it', async () => {
    const trace = join(folder.path, 'listed')
    const { code, out } = await run(process.execPath, [MAIN, 'plugins'], { SKEIN_TRACE: trace })
    expect([code, existsSync(trace)]).toEqual([0, false])
    expect(out).toMatch(/^ {2}cache +Keeps answers/m)
    expect(out).toMatch(/^ {2}hello {2}1\.2\.3 {2}Greets\. {2}\/.*skein-plugin-hello$/m)
    expect(out).toMatch(/Skein not yet: acl, /)
  })

  test('in JSON too', async () => {
    const { builtIn, installed, later } = JSON.parse((await skein('plugins', '-json')).out) as Record<string, object[]>
    expect(builtIn).toContainEqual({ directive: 'whoami', about: 'Answers every query with who asked.' })
    expect(installed).toMatchObject([{ directive: 'hello', package: 'skein-plugin-hello', version: '1.2.3', about: 'Greets.' }])
    expect(later).toContain('acl')
  })

  test('prints what a directive takes', async () => {
    const { out } = await skein('plugins', 'hello')
    expect(out).toMatch(/^hello: Greets whoever asks\.\n\n\| option +\| default +\| meaning +\|\n/)
    expect(out).toMatch(/\| `loud` +\| off +\| in capitals +\|/)
    const nobody = await skein('plugins', 'chace')
    expect([nobody.code, nobody.err]).toEqual([1, expect.stringMatching(/unknown directive "chace": did you mean cache\?/)])
  })

  test.each<[string, string, string]>([
    ['Cache', '', 'unknown directive "Cache": did you mean cache?'],
    ['mien', 'plugin ./named.mjs', 'unknown directive "mien": did you mean mine?'],
    ['helo', '', 'unknown directive "helo": did you mean hello?'],
    ['import', '', 'import: takes in a file or a snippet, in a Corefile; it is no plugin']
  ])('and what is meant by %s', async (name, line, problem) => {
    writeFileSync(join(folder.path, `meant-${name}`), `. {\n  whoami\n  ${line}\n}\n`)
    const { code, err } = await skein('plugins', name, '-conf', `meant-${name}`)
    expect([code, err]).toEqual([1, `skein: ${problem}\n`])
  })

  test('knows those that the configuration names', async () => {
    writeFileSync(join(folder.path, 'L'), '. {\n  plugin ./named.mjs\n  plugin ./nothere.js\n}\nb {\n  plugin ./named.mjs\n}\n')
    expect(await skein('plugins', 'mine', '-conf', 'L')).toEqual({
      code: 0,
      out: 'mine: Mine.\n\nNone.\n',
      err: 'skein: L:3: plugin: ./nothere.js cannot be loaded: there is no such file\n'
    })
    const { out, err } = await skein('plugins', '-conf', 'L')
    expect([out, err]).toEqual([expect.stringMatching(/^Named by .*\n {2}\.\/named\.mjs +L:6\n {2}\.\/nothere\.js +L:3\n$/m), ''])
    const { named } = JSON.parse((await skein('plugins', '-json', '-conf', 'L')).out) as { named: object[] }
    expect(named).toContainEqual({ spec: './nothere.js', file: 'L', line: 3 })
  })

  test('lists though the configuration cannot be read, and whatever packages say of themselves', async () => {
    const odd = {
      a: '{"version":1,"description":null}',
      b: 'null',
      c: '[]',
      d: 'no JSON',
      e: '{"version":"2\\n","description":"one\\ntwo\\u001b[31m"}'
    }
    for (const [name, text] of Object.entries(odd)) {
      mkdirSync(join(folder.path, `odd/node_modules/skein-plugin-odd-${name}`), { recursive: true })
      writeFileSync(join(folder.path, `odd/node_modules/skein-plugin-odd-${name}/package.json`), text)
    }
    writeFileSync(join(folder.path, 'odd/Corefile'), '. {\n')
    const { code, out, err } = await skein('plugins', '-conf', 'odd/Corefile')
    expect([code, err]).toEqual([0, expect.stringMatching(/^skein: odd\/Corefile:1: the file ends in the block/)])
    expect(out).toMatch(/^ {2}odd-a +\/.*\n {2}odd-b +\/.*\n {2}odd-c +\/.*\n {2}odd-d +\/.*\n {2}odd-e {2}2 +one two \[31m {2}\/.*$/m)
    expect(out).not.toContain('\u001b')
  })
})

const cases = corefileCases().filter((given) => whySkipped(given) === undefined && given.files === undefined && given.env === undefined)

test(`check says of ${cases.length} Corefiles what the start says`, async () => {
  const conf = join(folder.path, 'case')
  const different: string[] = []
  for (const given of cases) {
    writeFileSync(conf, textOf(given))
    const { findings } = await check({ conf, defaultPort: 20053, builtInOnly: false, version: 'Skein-test' })
    const starts = findings.every(({ severity }) => severity !== 'error')
    if (starts !== ((await verdictOf(given)).zones !== undefined)) different.push(given.title)
  }
  expect(different).toEqual([])
})
