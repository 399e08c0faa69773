import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { check } from './check.js'
import { shownFinding } from './finding.js'
import { type Machine, thisMachine } from './machine.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-check-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A packaged acl, which Skein has a place for and does not have. */
mkdirSync(join(folder, 'node_modules/skein-plugin-acl'), { recursive: true })
writeFileSync(join(folder, 'node_modules/skein-plugin-acl/package.json'), '{"type":"module","exports":"./index.js"}')
writeFileSync(
  join(folder, 'node_modules/skein-plugin-acl/index.js'),
  "export default { name: 'acl', api: 1, setup: () => ({ handle: (query, next) => next(query) }) }"
)
writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
writeFileSync(join(folder, 'mine.js'), "export default { name: 'mine', api: 1, setup: () => ({}) }")
writeFileSync(join(folder, 'file'), '')
writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\nnameserver nonsense\n')

const machine: Machine = {
  has: (address) => ['127.0.0.1', '::1', '192.0.2.1', '0.0.0.0', '::', '224.0.0.251'].includes(address),
  bindsAny: false,
  firstPort: 0
}

/** What is found, as `CODE FILE:LINE: PROBLEM`. */
async function found(corefile: string, of: Partial<Machine> = {}, builtInOnly = false): Promise<string[]> {
  const conf = join(folder, 'Corefile')
  writeFileSync(conf, corefile)
  const { findings } = await check({ conf, defaultPort: 53, builtInOnly, version: 'Skein-test', machine: { ...machine, ...of } })
  return findings.map((finding) => `${finding.severity} ${finding.code} ${shownFinding(finding).replaceAll(`${folder}/`, '')}`)
}

test('a configuration that says what is meant has nothing to find', async () => {
  const corefile = `example.org 192.0.2.0/24 {
  prometheus
  errors
  log example.org
  loadbalance
  cache 30 example.org
  stub skydns.example.org {
    zone lab.example.org 192.0.2.53
    store
  }
  chaos
  etcd skydns.example.org 192.0.2.0/24 {
    store
    fallthrough 192.0.2.0/24
  }
  forward . 192.0.2.53 {
    except example.org
  }
  whoami
}
a.example.org {
  forward . 127.0.0.1:1053
}
.:1053 {
  forward . none
}
`
  expect(await found(corefile)).toEqual([])
})

describe('what keeps the server from starting is an error, and all of it is told', () => {
  test.each<[string, string, string[]]>([
    [
      'a file that is no Corefile',
      '. {\n',
      ['configuration Corefile:1: the file ends in the block that Corefile:1 opens, expected } on a line of its own']
    ],
    [
      'several lines of several blocks',
      'a {\n  cache x y z..\n  forwrd . 192.0.2.1\n}\nb {\n  bufsize 1\n  log {\n    format x\n  }\n}',
      [
        'configuration Corefile:2: cache: "z..": no domain name: an empty label in the name "z..", expected one such as example.org',
        'configuration Corefile:3: unknown directive "forwrd": did you mean forward?',
        'configuration Corefile:6: bufsize: expected a whole number from 512 to 4096, not "1"',
        'configuration Corefile:8: log: unknown option "format", expected one of class, json, errors, slow, sample'
      ]
    ],
    [
      'a zone that is served twice',
      'a {\n  whoami\n}\na {\n  whoami\n}',
      ['configuration Corefile:4: a: Corefile:1 serves a. on port 53 already, expected each zone once']
    ],
    [
      'a directive that stands twice',
      'a {\n  cache\n  cache\n  whoami\n}',
      ['configuration Corefile:3: cache: may stand only once in a server block, and stands in line 2 already']
    ],
    [
      'an address of somebody else',
      '. {\n  bind 127.0.0.1 203.0.113.7\n  whoami\n}',
      ['address Corefile:2: bind: this machine has no address 203.0.113.7, expected one of its own']
    ],
    [
      'a keys API on an address of somebody else',
      '. {\n  etcd a {\n    store\n    api 203.0.113.7:4001\n    token secret-enough\n  }\n}',
      ['address Corefile:2: etcd: this machine has no address 203.0.113.7 for its keys API, expected one of its own']
    ],
    [
      'health on an address of somebody else',
      '. {\n  health 203.0.113.7:8080\n  whoami\n}',
      ['address Corefile:2: health: this machine has no address 203.0.113.7, expected one of its own']
    ],
    [
      'health and ready in one place',
      '. {\n  ready :8080\n  health 127.0.0.1:8080\n  whoami\n}',
      ['configuration Corefile:3: health: health is to listen on 127.0.0.1:8080, where ready of Corefile:2 is, expected another port']
    ],
    [
      'a keys API where DNS is',
      '.:4001 {\n  etcd a {\n    store\n  }\n}',
      ['configuration Corefile:2: etcd: its keys API is to listen on 127.0.0.1:4001, where DNS is, expected another port']
    ],
    [
      'a store in a file',
      '. {\n  etcd a {\n    store ./file\n  }\n}',
      ['store Corefile:2: the store folder file is not a folder: move that file away, or name another folder']
    ],
    [
      'a store below a file',
      '. {\n  etcd a {\n    store ./file/data\n  }\n}',
      ['store Corefile:2: the store folder file/data cannot be reached (ENOTDIR): give this user the folders above it']
    ],
    [
      'a plugin that is not there',
      '. {\n  plugin ./nothere.js\n  whoami\n}',
      ['configuration Corefile:2: plugin: ./nothere.js cannot be loaded: there is no such file']
    ],
    [
      'an order that is wrong, beside plugins that are right',
      '. {\n  plugin ./mine.js\n  order cache befor acl\n  order mine before cahce\n  order mine after acl\n  mine\n  whoami\n}',
      [
        'configuration Corefile:3: order: expected one of before, after, not "befor": did you mean before?',
        'configuration Corefile:4: order: "cahce" is no built-in plugin: did you mean cache?'
      ]
    ],
    [
      'several plugins that are wrong, whose directives are not told of again',
      '. {\n  plugin ./nothere.js\n  plugin ./mine.js\n  plugin corp/geo\n  nothere\n  geo\n  mine\n  chache\n  whoami\n}',
      [
        'configuration Corefile:2: plugin: ./nothere.js cannot be loaded: there is no such file',
        'configuration Corefile:4: plugin: expected the name of a package, or a path such as ./mine.js, not "corp/geo"',
        'configuration Corefile:8: unknown directive "chache": did you mean cache?'
      ]
    ]
  ])('%s', async (_title, corefile, errors) => {
    const all = await found(corefile)
    expect(all.map((line) => line.slice(0, 'error '.length))).toEqual(errors.map(() => 'error '))
    for (const [index, error] of errors.entries()) expect(all[index]).toContain(`error ${error}`)
  })

  test('a port that this user may not have', async () => {
    expect(await found('. .:1053 {\n  whoami\n}', { firstPort: 1024 })).toEqual([
      'error port Corefile:1: port 53 needs root or CAP_NET_BIND_SERVICE, which this user has not, expected 1024 or above'
    ])
  })

  test('but not an address that comes later, where the machine allows that', async () => {
    expect(await found('. {\n  bind 203.0.113.7\n  whoami\n}', { bindsAny: true })).toEqual([])
  })
})

describe('what is most likely not meant is a warning', () => {
  test.each<[string, string, string[]]>([
    [
      'a plugin behind one that answers all',
      '. {\n  forward . 192.0.2.53\n  whoami\n}',
      ['unreachable Corefile:3: whoami: it is never asked: forward in line 2 stands before it and answers all']
    ],
    [
      'a second of its kind',
      '. {\n  forward . 192.0.2.53\n  forward example.org 192.0.2.54\n}',
      ['unreachable Corefile:3: forward: it is never asked: forward in line 2 stands before it and answers all']
    ],
    [
      'a forward for the zone of a store',
      '. {\n  etcd a.test {\n    store\n  }\n  forward a.test 192.0.2.53\n}',
      ['unreachable Corefile:5: forward: it is never asked: etcd in line 2 stands before it and answers all']
    ],
    [
      'a zone outside of its block',
      'a.test {\n  forward b.test 192.0.2.53\n}',
      ['outside Corefile:2: forward: b.test. is outside of the zones of its server block, so it is never asked']
    ],
    [
      'a zone that another block has',
      '. {\n  etcd a.test {\n    store\n  }\n}\na.test {\n  whoami\n}',
      ['shadowed Corefile:2: etcd: a.test. is served by the server block of Corefile:6, so it is never asked for that here']
    ],
    [
      'a block that names an address, and one that listens everywhere',
      'a {\n  bind 127.0.0.1\n  whoami\n}\n. {\n  whoami\n}',
      ['bind-overlap Corefile:1: 127.0.0.1:53 is named here, and Corefile:5 listens on every address: all their zones are served there']
    ],
    [
      'a block that answers nothing',
      '. {\n  log\n  errors\n}',
      ['no-answer Corefile:1: nothing in this server block answers, so every question is refused']
    ],
    [
      'a variable that is not set',
      '. {\n  whoami\n  log {$SKEIN_TEST_UNSET}a\n}',
      ['read-oddly Corefile:3: the environment variable "SKEIN_TEST_UNSET" is not set, and is read as an empty text']
    ],
    [
      'a resolv.conf that is odd',
      '. {\n  forward . resolv.conf\n}',
      [
        'asks-itself Corefile:2: forward: 127.0.0.1:53 is this server, and the question comes back to this server block',
        'plugin plugin/forward: resolv.conf: the nameserver "nonsense" is no address, and is left out'
      ]
    ],
    [
      'a server that asks itself',
      '. {\n  bind 127.0.0.1\n  forward . 127.0.0.1\n}',
      ['asks-itself Corefile:3: forward: 127.0.0.1:53 is this server, and the question comes back to this server block']
    ],
    [
      'one that asks itself by another address',
      '. {\n  forward . [::1]\n}',
      ['asks-itself Corefile:2: forward: [::1]:53 is this server, and the question comes back to this server block']
    ],
    [
      'one that asks itself at the unspecified address',
      '. {\n  bind 127.0.0.1\n  forward . 0.0.0.0\n}',
      ['asks-itself Corefile:3: forward: 0.0.0.0:53 is this server, and the question comes back to this server block']
    ],
    [
      'two blocks that ask each other',
      'a.test:54 {\n  forward . 127.0.0.1:55\n}\n.:55 {\n  forward . 127.0.0.1:54\n}',
      [
        'asks-itself Corefile:2: forward: 127.0.0.1:55 is this server, and the question comes back to this server block over Corefile:4',
        'asks-itself Corefile:5: forward: 127.0.0.1:54 is this server, and the question comes back to this server block over Corefile:1'
      ]
    ],
    [
      'a block of plugins that answer nothing by themselves',
      '. {\n  any\n  cache\n  chaos\n  loadbalance\n}',
      ['no-answer Corefile:1: nothing in this server block answers, so every question is refused']
    ],
    [
      'one of several zones outside of its block',
      'a.test {\n  stub {\n    zone b.a.test 192.0.2.53\n    zone c.test 192.0.2.53\n  }\n  whoami\n}',
      ['outside Corefile:2: stub: c.test. is outside of the zones of its server block, so it is never asked for that']
    ],
    [
      'a plugin for some types behind one that answers all',
      '. {\n  any\n  whoami\n  order any after whoami\n}',
      ['unreachable Corefile:2: any: it is never asked: whoami in line 3 stands before it and answers all']
    ],
    [
      'a keys API that everybody reaches',
      '. {\n  etcd a {\n    store\n    api 192.0.2.1:4001\n  }\n}',
      [
        'open-api Corefile:2: etcd: the keys API on 192.0.2.1:4001 can be written by whoever reaches it: set a token, or listen on 127.0.0.1'
      ]
    ],
    [
      'numbers on an address of somebody else',
      '. {\n  prometheus 203.0.113.7:9153\n  whoami\n}',
      ['address Corefile:2: prometheus: this machine has no address 203.0.113.7, expected one of its own']
    ],
    [
      'a stub zone that another block serves, which is no loop',
      '. {\n  stub {\n    zone a.test 127.0.0.1\n  }\n  whoami\n}\na.test {\n  whoami\n}',
      ['shadowed Corefile:2: stub: a.test. is served by the server block of Corefile:7, so it is never asked for that here']
    ],
    [
      'a zone that another block has at one of the addresses alone',
      'a.test {\n  bind 127.0.0.1\n  whoami\n}\n. {\n  etcd a.test {\n    store\n    api off\n  }\n}',
      ['bind-overlap Corefile:1: 127.0.0.1:53 is named here, and Corefile:5 listens on every address: all their zones are served there']
    ],
    [
      'a stub zone that asks itself',
      '. {\n  stub {\n    zone a.test 192.0.2.1\n  }\n  whoami\n}',
      ['asks-itself Corefile:2: stub: 192.0.2.1:53 is this server, and the question comes back to this server block']
    ],
    [
      'the cache before acl',
      '. {\n  acl\n  cache\n  whoami\n  order acl after cache\n}',
      ['unsafe-order Corefile:5: order: cache stands before acl: what the cache has is told to those whom acl refuses']
    ],
    [
      'the cache behind what it caches',
      '. {\n  cache\n  forward . 192.0.2.53\n  order cache after forward\n}',
      [
        'unreachable Corefile:2: cache: it is never asked: forward in line 3 stands before it and answers all',
        'unsafe-order Corefile:4: order: forward stands before cache: what forward answers is never cached'
      ]
    ],
    [
      'paths before the folder that they hang on',
      '. {\n  root .\n  forward . 192.0.2.53\n  order root after forward\n}',
      ["unsafe-order Corefile:4: order: forward stands before root: what forward names hangs on the Corefile's folder"]
    ],
    [
      'lines for what nobody has',
      '. {\n  plugin ./mine.js\n  mine\n  order chache before acl\n  order mien before acl\n  order zzzzz before acl\n  order adl after log\n  whoami\n}',
      [
        'unused-line Corefile:4: order: no server block has chache: did you mean cache?',
        'unused-line Corefile:5: order: no server block has mien: did you mean mine?',
        'unused-line Corefile:6: order: no server block has zzzzz',
        'unused-line Corefile:7: order: no server block has adl: did you mean acl?'
      ]
    ],
    [
      'lines for what is not there',
      '. {\n  plugin ./mine.js\n  order cache before acl\n  whoami\n}',
      ['unused-line Corefile:2: plugin: no server block has mine', 'unused-line Corefile:3: order: no server block has cache']
    ]
  ])('%s', async (_title, corefile, warnings) => {
    expect(await found(corefile)).toEqual(warnings.map((text) => `warning ${text}`))
  })

  test.each([
    ['root', 'etcd', "what etcd names hangs on the Corefile's folder"],
    ['root', 'stub', "what stub names hangs on the Corefile's folder"],
    ['root', 'forward', "what forward names hangs on the Corefile's folder"],
    ['acl', 'cache', 'what the cache has is told to those whom acl refuses'],
    ['loadbalance', 'cache', 'what the cache has always comes in the same order'],
    ['cache', 'stub', 'what stub answers is never cached'],
    ['cache', 'etcd', 'what etcd answers is never cached'],
    ['cache', 'forward', 'what forward answers is never cached'],
    ['cache', 'dnssec', 'every answer is signed anew'],
    ['dnssec', 'etcd', 'what etcd answers is never signed'],
    ['dnssec', 'forward', 'what forward answers is never signed'],
    ['stub', 'etcd', 'stub zones within the domain are never asked'],
    ['etcd', 'forward', 'names of the services are asked of the upstreams']
  ])('%s behind %s', async (first, second, why) => {
    const lines: Record<string, string> = {
      root: 'root .',
      stub: 'stub {\n    zone b.test 192.0.2.1:54\n  }',
      etcd: 'etcd a.test {\n    store\n  }',
      forward: 'forward . 192.0.2.53'
    }
    const corefile = `. {\n  order ${first} after ${second}\n  ${lines[first] ?? first}\n  ${lines[second] ?? second}\n  whoami\n}`
    expect(await found(corefile)).toContain(`warning unsafe-order Corefile:2: order: ${second} stands before ${first}: ${why}`)
  })
})

describe('what is not meant as a mistake is none', () => {
  test.each([
    ['another class', '. {\n  chaos\n  forward . 192.0.2.53\n}'],
    ['the acl where it stands by itself', '. {\n  acl\n  cache\n  whoami\n}'],
    ['a forward that leaves something', '. {\n  forward . 192.0.2.53 {\n    except a.test\n  }\n  whoami\n}'],
    ['a store that lets go', '. {\n  etcd a.test {\n    store\n    fallthrough\n  }\n  forward a.test 192.0.2.53\n}'],
    ['asking another block of this server', '. {\n  forward . 127.0.0.1:54\n}\n.:54 {\n  whoami\n}'],
    [
      'asking for names that another block has',
      'a.test {\n  forward . 127.0.0.1\n}\na.test:54 {\n  whoami\n}'.replace('forward . 127.0.0.1', 'forward . 127.0.0.1:54')
    ],
    ['one of two zones that somebody else answers for', 'a.test b.test {\n  etcd a.test {\n    store\n  }\n  forward . 192.0.2.53\n}'],
    ['another class behind one that answers all', '. {\n  chaos\n  forward . 192.0.2.53\n  order chaos after forward\n}'],
    ['a keys API beside DNS of the other family', '.:4001 {\n  bind ::1\n  etcd a {\n    store\n  }\n}'],
    ['a group of receivers', '. {\n  bind 224.0.0.251\n  whoami\n}'],
    ['another address of the same port', '. {\n  bind 127.0.0.1\n  forward . 192.0.2.1\n}']
  ])('%s', async (_title, corefile) => {
    expect(await found(corefile)).toEqual([])
  })
})

test('without importing plugins only their directives are left out', async () => {
  const corefile = '. {\n  plugin ./nothere.js\n  mine\n  acl\n  cache nonsense..\n}'
  expect(await found(corefile, {}, true)).toEqual([
    'error configuration Corefile:5: cache: "nonsense..": no domain name: an empty label in the name "nonsense..", expected one such as example.org'
  ])
  expect(await found('. {\n  mine\n}', {}, true)).toEqual([
    expect.stringContaining('error configuration Corefile:2: unknown directive "mine": ')
  ])
})

describe('what Linux says of this process decides which ports it may have', () => {
  const files =
    (status: string, start?: string) =>
    (path: string): string => {
      if (path === '/proc/self/status') return status
      if (path.endsWith('ip_unprivileged_port_start') && start !== undefined) return start
      throw new Error('there is no such file')
    }

  test.each<[string, string, string | undefined, number]>([
    ['all capabilities', 'CapEff:\t000001ffffffffff\n', undefined, 0],
    ['that of ports alone', 'CapEff:\t0000000000000400\n', undefined, 0],
    ['all but that', 'CapEff:\t000001fffffffbff\n', undefined, 1024],
    ['none, and a lower bound', 'CapEff:\t0000000000000000\n', '80\n', 80]
  ])('%s', (_title, status, start, first) => {
    expect(thisMachine(files(status, start)).firstPort).toBe(first)
  })
})
