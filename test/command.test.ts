import { createSocket } from 'node:dgram'
import { chmodSync, copyFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { block, etcd, MAIN, skein, start } from './command.js'
import { freePort, isReached, startProcess, temporaryFolder } from './processes.js'

const isRoot = process.getuid?.() === 0

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** What is wrong, how the command is called, and its one line. */
const mistakes: { title: string; corefile?: string; args?: string[]; env?: Record<string, string>; code?: number; says: RegExp }[] = [
  {
    title: 'a Corefile that is not there',
    args: ['-conf', 'nothere'],
    says: /^skein: cannot read the Corefile nothere: there is no such file$/
  },
  {
    title: 'a way to drive UDP that there is not',
    corefile: block('whoami'),
    env: { SKEIN_UDP: 'uring' },
    says: /^skein: SKEIN_UDP is "uring", expected batch or dgram$/
  },
  { title: 'a folder as Corefile', args: ['-conf', '.'], says: /cannot read the Corefile \.: it is a folder$/ },
  {
    title: 'a slip in a directive',
    corefile: block('etdc skydns.test'),
    says: /^skein: Corefile:3: unknown directive "etdc": did you mean etcd\?/
  },
  {
    title: 'a directive that is not there yet',
    corefile: block('hosts'),
    says: /Corefile:3: hosts: CoreDNS has this directive, Skein does not have it yet$/
  },
  {
    title: 'a plugin that nobody has',
    corefile: block('frobnicate'),
    says: /Corefile:3: unknown directive "frobnicate": .*npm install skein-plugin-frobnicate$/
  },
  {
    title: 'a number that is none',
    corefile: etcd('store', 'ttl ten'),
    says: /Corefile:5: etcd: ttl: expected a whole number from 0 to 2147483647, not "ten"$/
  },
  {
    title: 'an option that is none',
    corefile: etcd('store', 'hostmastre a@b.c'),
    says: /Corefile:5: etcd: unknown option "hostmastre", did you mean hostmaster\?$/
  },
  {
    title: 'an endpoint that is no URL',
    corefile: etcd('endpoint http://127.0.0.1:2379/v3'),
    says: /Corefile:4: etcd: endpoint: expected a URL such as http:\/\/127\.0\.0\.1:2379, .*, not "http:\/\/127\.0\.0\.1:2379\/v3"$/
  },
  {
    title: 'certificates of an etcd that are not there',
    corefile: etcd('endpoint https://127.0.0.1:2379', 'tls nothere.crt'),
    says: /Corefile:3: etcd: cannot read nothere\.crt: there is no such file$/
  },
  {
    title: 'a way to an etcd that nothing leads to',
    corefile: etcd('store', 'credentials skein hush-hush'),
    says: /Corefile:5: etcd: credentials: says how etcd is reached, expected `endpoint URL…` too$/
  },
  { title: 'a block that does not end', corefile: '. {\n  whoami\n', says: /Corefile:2: the file ends in the block that Corefile:1 opens/ },
  {
    title: 'an import',
    corefile: block('import other'),
    says: /Corefile:3: "other" is neither a snippet defined before this line nor a file, expected one of them/
  },
  { title: 'octets that are no text', corefile: '\u0000\uFFFE. {\n', says: /Corefile:1: / },
  {
    title: 'a zone served twice',
    corefile: 'a.test {\n  whoami\n}\nA.test. {\n  whoami\n}\n',
    says: /Corefile:4: A\.test\.: Corefile:1 serves a\.test\. on port 53 already/
  },
  {
    title: 'a transport that is not there yet',
    corefile: 'tls://. {\n  whoami\n}\n',
    says: /Corefile:1: tls:\/\/\.: Skein does not serve tls:\/\/ yet/
  },
  {
    title: 'two lines of errors',
    corefile: block('errors', 'errors'),
    says: /Corefile:4: errors: may stand only once in a server block, and stands in line 3 already$/
  },
  {
    title: 'two caps on UDP',
    corefile: `${block('bufsize 512')}a.test:0 {\n  bufsize 1232\n}\n`,
    says: /Corefile:6: bufsize: differs from what Corefile:3 says/
  },
  {
    title: 'an address of somebody else',
    corefile: '.:0 {\n  bind 203.0.113.7\n  whoami\n}\n',
    says: /cannot listen on 203\.0\.113\.7:0 \(udp\): this machine has no such address$/
  },
  {
    title: 'an interface that is not there',
    corefile: '.:0 {\n  bind nope0\n}\n',
    says: /Corefile:2: bind: expected an address or the name of a network interface, not "nope0"$/
  },
  { title: 'an upstream without port number', corefile: block('forward . 127.0.0.1:dns'), says: /Corefile:3: forward: .*dns/ },
  {
    title: 'no upstream',
    corefile: block('forward .'),
    says: /Corefile:3: forward: expected TO… after "\.": an address, or a file like \/etc\/resolv\.conf$/
  },
  {
    title: 'a resolv.conf that is not there',
    corefile: block('forward . ./resolv.conf'),
    says: /Corefile:3: forward: cannot read \.\/resolv\.conf: there is no such file$/
  },
  { title: 'an API address without port', corefile: etcd('store', 'api 127.0.0.1'), says: /Corefile:5: etcd: api: expected ADDRESS:PORT/ },
  {
    title: 'an API port that is too high',
    corefile: etcd('store', 'api 127.0.0.1:70000'),
    says: /Corefile:5: etcd: api: expected ADDRESS:PORT/
  },
  {
    title: 'a store in a folder of other things',
    corefile: etcd('store foreign', 'api off'),
    says: /the store folder \S+foreign holds other files \(notes\.txt\) and no Skein store/
  },
  { title: 'a store that is a file', corefile: etcd('store foreign/notes.txt', 'api off'), says: /foreign\/notes\.txt/ },
  { title: 'a flag that is none', args: ['-cnof', 'x'], code: 2, says: /unknown flag -cnof, expected one of -conf/ },
  { title: 'a port that is none', args: ['-dns.port', 'abc'], code: 2, says: /-dns\.port: expected a port from 0 to 65535, not "abc"$/ },
  {
    title: 'a form of the log that is none',
    args: ['-log-format', 'jsno'],
    code: 2,
    says: /^skein: -log-format: expected text or json, not "jsno"$/
  },
  { title: 'a flag without its value', args: ['-conf'], code: 2, says: /-conf: expected FILE after it$/ },
  {
    title: 'a command that is none',
    args: ['serve'],
    code: 2,
    says: /unknown command "serve", expected one of run, check, convert, plugins, explain, reload, kv, keys, skydns, help, version$/
  },
  { title: 'kv without key', args: ['kv', 'get'], code: 2, says: /kv get: expected a key such as/ },
  {
    title: 'kv with a key that is no path',
    args: ['kv', 'get', 'web'],
    code: 2,
    says: /kv get: expected a key that begins with \/, not "web"$/
  },
  {
    title: 'kv on a store that is not there',
    args: ['kv', 'ls', '-store', 'nothere'],
    says: /there is no store in \S+nothere: name its folder with -store$/
  },
  {
    title: 'kv import of a file that is not there',
    args: ['kv', 'import', 'nothere', '-store', 'new'],
    says: /cannot read nothere: there is no such file$/
  }
]

describe('a mistake costs one clear line on standard error and no stack', () => {
  beforeAll(() => {
    mkdirSync(join(folder.path, 'foreign'))
    writeFileSync(join(folder.path, 'foreign', 'notes.txt'), 'mine')
  })

  for (const [index, { title, corefile, args = [], env = {}, code = 1, says }] of mistakes.entries()) {
    test.concurrent(title, async () => {
      const cwd = join(folder.path, `mistake-${index}`)
      mkdirSync(cwd)
      if (corefile !== undefined) writeFileSync(join(cwd, 'Corefile'), corefile.replaceAll('foreign', '../foreign'))
      const ended = await skein(args, cwd, { env })
      expect(ended.err.trimEnd()).toMatch(says)
      expect(ended.err.trimEnd().split('\n')).toHaveLength(1)
      expect(ended.code).toBe(code)
      expect(ended.out).toBe('')
    })
  }
})

describe('what the machine refuses costs one line as well', () => {
  test('a port that is taken, over UDP and over TCP', async () => {
    const port = await freePort('127.0.0.1')
    writeFileSync(join(folder.path, 'taken'), block('whoami').replace(':0', `:${port}`))
    const udp = createSocket('udp4')
    await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', () => resolve()))
    expect((await skein(['-conf', 'taken'], folder.path)).err).toBe(`skein: cannot listen on 127.0.0.1:${port} (udp): the port is in use\n`)
    udp.close()
    const tcp = createServer()
    await new Promise<void>((resolve) => tcp.listen(port, '127.0.0.1', () => resolve()))
    expect((await skein(['-conf', 'taken'], folder.path)).err).toBe(`skein: cannot listen on 127.0.0.1:${port} (tcp): the port is in use\n`)
    tcp.close()
  })

  test.skipIf(!isRoot)('a privileged port and a folder that is not writable, without rights', async () => {
    const cwd = join(folder.path, 'unprivileged')
    mkdirSync(cwd)
    chmodSync(folder.path, 0o755)
    writeFileSync(join(cwd, 'privileged'), block('whoami').replace(':0', ':53'))
    const privileged = await skein(['-conf', 'privileged'], cwd, { uid: 65534 })
    // Where the kernel lets everybody use low ports there is nothing to refuse, and the server runs until it is stopped.
    if (privileged.code !== 99)
      expect(privileged.err).toMatch(/^skein: cannot listen on 127\.0\.0\.1:53 \(udp\): (no permission|the port is in use)/)
    writeFileSync(join(cwd, 'unwritable'), etcd('store data', 'api off'))
    const { err, code } = await skein(['-conf', 'unwritable'], cwd, { uid: 65534 })
    expect(err).toMatch(/^skein: the store folder \S+data cannot be made \(EACCES\): .+\n$/)
    expect(code).toBe(1)
  })

  test('a store that another server has, and a torn one', async () => {
    const cwd = join(folder.path, 'stores')
    mkdirSync(join(cwd, 'torn'), { recursive: true })
    writeFileSync(join(cwd, 'Corefile'), etcd('store one', 'api off'))
    const server = await start(cwd)
    const second = await skein([], cwd)
    expect(second.err).toMatch(/^skein: the store folder \S+one is in use by another Skein \(pid \d+\): .+\n$/)
    expect(second.code).toBe(1)
    expect(await server.stop()).toBe(0)
    copyFileSync(join(cwd, 'one', 'data.mdb'), join(cwd, 'torn', 'data.mdb'))
    truncateSync(join(cwd, 'torn', 'data.mdb'), 5000)
    writeFileSync(join(cwd, 'Corefile'), etcd('store torn', 'api off'))
    const torn = await skein([], cwd)
    expect(torn.err).toMatch(/^skein: \S+torn\/data\.mdb is no whole Skein store .+\n$/)
    expect(torn.code).toBe(1)
  })
})

describe('the command', () => {
  test('prints its version and platform, and its help', async () => {
    expect((await skein(['-version'], folder.path)).out).toMatch(/^Skein-\d+\.\d+\.\d+\n\w+\/\w+, node v\d+/)
    expect((await skein(['--help'], folder.path)).out).toContain('-conf FILE')
    expect((await skein(['kv', 'help'], folder.path)).out).toContain('skein kv put KEY VALUE')
  })

  test('serves CoreDNS’s built-in default where there is no Corefile, on the port that -dns.port names', async () => {
    const cwd = join(folder.path, 'default')
    mkdirSync(cwd)
    const port = await freePort('127.0.0.1')
    const server = await start(cwd, ['-p', String(port)])
    expect(server.output()).toMatch(new RegExp(`^\\.:${port}\\n`))
    expect(await server.stop()).toBe(0)
  })

  test('reads the Corefile from standard input with `-conf -` and `-conf stdin`', async () => {
    for (const conf of ['-', 'stdin']) {
      const { err, code } = await skein(['-conf', conf], folder.path, { input: block('etdc') })
      expect(err).toMatch(/^skein: \/dev\/stdin:3: unknown directive "etdc"/)
      expect(code).toBe(1)
    }
  })

  test('prints nothing with -quiet', async () => {
    const cwd = join(folder.path, 'quiet')
    mkdirSync(cwd)
    const port = await freePort('127.0.0.1')
    writeFileSync(join(cwd, 'Corefile'), `.:${port} {\n  bind 127.0.0.1\n  whoami\n}\n`)
    // It tells nothing, but it can be reached; what it prints at the start it has printed a moment later.
    const server = await startProcess(process.execPath, [MAIN, '-quiet'], { cwd, ready: () => isReached(port) })
    await sleep(300)
    expect(server.output()).toBe('')
    expect(await server.stop()).toBe(0)
  })
})

test('the Corefile that the help shows is one', async () => {
  const [, text] = /port 1053.*?:\n\n((?: {2}.*\n)+)/.exec((await skein(['-help'], folder.path)).out) ?? []
  const cwd = join(folder.path, 'help')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'Corefile'), text!.replace('.:1053 {', '.:0 {\n    bind 127.0.0.1').replace('./data', './data\n      api off'))
  expect(await (await start(cwd)).stop()).toBe(0)
})
