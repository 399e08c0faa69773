/** Wrong configurations in both forms, and what the operator reads: file, line, what was found, what was expected, and the nearest right word. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { BUILT_IN, directiveName } from '../src/chain/order.js'
import { check } from '../src/check/check.js'
import { temporaryFolder } from './processes.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** The errors of a configuration, each with its line. */
async function errorsOf(name: string, text: string): Promise<[line: number | undefined, problem: string][]> {
  const conf = join(folder.path, name)
  writeFileSync(conf, text)
  const { findings } = await check({ conf, defaultPort: 53, builtInOnly: false, version: 'Skein-test' })
  return findings
    .filter(({ severity }) => severity === 'error')
    .map(({ at, problem }) => [at?.file === conf ? at.line : undefined, problem.replaceAll(`${folder.path}/`, '')])
}

test.each<[corefile: string, toml: string, line: number, tomlLine: number, problem: string, tomlProblem?: string]>([
  ['. {\n  chache 30\n}\n', '[[server]]\nkeys = "."\nchache = 30\n', 2, 3, 'unknown directive "chache": did you mean cache?'],
  ['. {\n  Cache 30\n}\n', '[[server]]\nkeys = "."\nCache = 30\n', 2, 3, 'unknown directive "Cache": did you mean cache?'],
  [
    '. {\n  rewrite name a b\n}\n',
    '[[server]]\nkeys = "."\nrewrite = ["name", "a", "b"]\n',
    2,
    3,
    'rewrite: CoreDNS has this directive, Skein does not have it yet'
  ],
  [
    '. {\n  geo db\n}\n',
    '[[server]]\nkeys = "."\ngeo = "db"\n',
    2,
    3,
    'unknown directive "geo": known are KNOWN. For a plugin from npm: npm install skein-plugin-geo'
  ],
  [
    '. {\n  cache 0\n}\n',
    '[[server]]\nkeys = "."\ncache = 0\n',
    2,
    3,
    'cache: expected a TTL in seconds, a whole number from 1 to 2147483647, not "0"'
  ],
  [
    '. {\n  cache 30s\n}\n',
    '[[server]]\nkeys = "."\ncache = "30s"\n',
    2,
    3,
    'cache: expected a TTL in seconds, a whole number from 1 to 2147483647, not "30s"'
  ],
  [
    '. {\n  cache {\n  sucess 10\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.cache]\nsucess = 10\n',
    3,
    4,
    'cache: unknown option "sucess", did you mean success?'
  ],
  [
    '. {\n  cache {\n  success\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.cache]\nsuccess = true\n',
    3,
    4,
    'cache: success: expected CAP: a whole number from 1 to 2147483647'
  ],
  [
    '. {\n  cache {\n  success 10 30 60\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.cache]\nsuccess = [10, 30, 60]\n',
    3,
    4,
    'cache: success: expected a MINTTL of at most the TTL, which is 30, not 60'
  ],
  [
    '. {\n  cache {\n  disable succes\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.cache]\ndisable = "succes"\n',
    3,
    4,
    'cache: disable: expected one of success, denial, not "succes": did you mean success?'
  ],
  [
    '. {\n  forward .\n}\n',
    '[[server]]\nkeys = "."\nforward = "."\n',
    2,
    3,
    'forward: expected TO… after ".": an address, or a file like /etc/resolv.conf'
  ],
  [
    '. {\n  forward 127.0.0.1 .\n}\n',
    '[[server]]\nkeys = "."\nforward = ["127.0.0.1", "."]\n',
    2,
    3,
    'forward: expected a zone such as . or example.org, not the address "127.0.0.1"'
  ],
  [
    '. {\n  forward . dns.google\n}\n',
    '[[server]]\nkeys = "."\nforward = [".", "dns.google"]\n',
    2,
    3,
    'forward: "dns.google" is neither an address nor a file; host names are not supported yet: name upstreams by address'
  ],
  [
    '. {\n  forward . tls://9.9.9.9\n}\n',
    '[[server]]\nkeys = "."\nforward = [".", "tls://9.9.9.9"]\n',
    2,
    3,
    'forward: "tls://9.9.9.9": upstreams over tls:// are not supported yet, expected dns:// or an address'
  ],
  [
    '. {\n  forward . 9.9.9.9 {\n  policy rand\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.forward]\nfrom="."\nto="9.9.9.9"\npolicy="rand"\n',
    3,
    6,
    'forward: policy: expected one of random, round_robin, sequential, not "rand": did you mean random?'
  ],
  [
    '. {\n  forward . 9.9.9.9 {\n  health_check 5s\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.forward]\nfrom="."\nto="9.9.9.9"\nhealth_check="5s"\n',
    3,
    6,
    'forward: health_check: is not supported yet, expected the line left out'
  ],
  [
    '. {\n  bufsize 100\n}\n',
    '[[server]]\nkeys = "."\nbufsize = 100\n',
    2,
    3,
    'bufsize: expected a whole number from 512 to 4096, not "100"'
  ],
  [
    '. {\n  bind eth9\n}\n',
    '[[server]]\nkeys = "."\nbind = "eth9"\n',
    2,
    3,
    'bind: expected an address or the name of a network interface, not "eth9"'
  ],
  [
    '. {\n  any refus\n}\n',
    '[[server]]\nkeys = "."\nany = "refus"\n',
    2,
    3,
    'any: expected no argument or refuse, not "refus": did you mean refuse?'
  ],
  [
    '. {\n  log a..b {combined}\n}\n',
    '[[server]]\nkeys = "."\nlog = ["a..b", "{combined}"]\n',
    2,
    3,
    'log: expected a domain name, not "a..b": an empty label in the name "a..b"'
  ],
  [
    '. {\n  errors\n  errors\n}\n',
    '[[server]]\nkeys = "."\nerrors = [[], []]\n',
    3,
    3,
    'errors: may stand only once in a server block, and stands in line 2 already',
    'errors: may stand only once in a server block, and stands in line 3 already'
  ],
  [
    '. {\n  etcd a {\n  endpoint ftp://x:2379\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.etcd]\nzones=["a"]\nendpoint="ftp://x:2379"\n',
    3,
    5,
    'etcd: endpoint: expected a URL such as http://127.0.0.1:2379, https://etcd.example:2379 or http://[::1]:2379, not "ftp://x:2379"'
  ],
  [
    '. {\n  etcd a {\n  store\n  expire 1h\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.etcd]\nzones=["a"]\nstore=true\nexpire="1h"\n',
    4,
    6,
    'etcd: expire: says how etcd is reached, expected `endpoint URL…` too'
  ],
  [
    '. {\n  etcd a {\n  store\n  token abc\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.etcd]\nzones=["a"]\nstore=true\ntoken="abc"\n',
    4,
    6,
    'etcd: token: expected at least 8 printable characters without spaces'
  ],
  [
    '. {\n  etcd a {\n  store\n  priority 0\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.etcd]\nzones=["a"]\nstore=true\npriority=0\n',
    4,
    6,
    'etcd: priority: expected a whole number from 1 to 65535, not "0"'
  ],
  [
    '. {\n  etcd a {\n  store\n  api 4001\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.etcd]\nzones=["a"]\nstore=true\napi=4001\n',
    4,
    6,
    'etcd: api: expected ADDRESS:PORT, unix:PATH or off, not "4001"'
  ],
  [
    '. {\n  stub\n}\n',
    '[[server]]\nkeys = "."\nstub = true\n',
    2,
    3,
    'stub: expected `store [DIR]`, `etcd`, or a zone: `zone ZONE ADDRESS…`'
  ],
  [
    '. {\n  stub {\n  zone a x.y\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.stub]\nzone=["a","x.y"]\n',
    3,
    4,
    'stub: zone: expected an address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53, not "x.y"'
  ],
  [
    '. {\n  prometheus 9153\n}\n',
    '[[server]]\nkeys = "."\nprometheus = 9153\n',
    2,
    3,
    'prometheus: expected an address with a port such as localhost:9153, not "9153"'
  ],
  [
    '. {\n  whoami {\n  x\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.whoami]\nx=1\n',
    2,
    3,
    'whoami: takes no block in braces',
    'whoami: takes no options'
  ],
  ['. {\n  whoami x\n}\n', '[[server]]\nkeys = "."\nwhoami = "x"\n', 2, 3, 'whoami: expected no argument, not "x"'],
  [
    '. {\n  chaos {\n  version x\n  }\n}\n',
    '[[server]]\nkeys = "."\n[server.chaos]\nhostnam="x"\n',
    3,
    4,
    'chaos: unknown option "version", expected one of hostname',
    'chaos: unknown option "hostnam", did you mean hostname?'
  ],
  [
    '. {\n  order cache befor etcd\n  whoami\n}\n',
    '[[server]]\nkeys = "."\norder=["cache","befor","etcd"]\nwhoami=true\n',
    2,
    3,
    'order: expected one of before, after, not "befor": did you mean before?'
  ],
  [
    '. {\n  order cache before etdc\n  whoami\n}\n',
    '[[server]]\nkeys = "."\norder=["cache","before","etdc"]\nwhoami=true\n',
    2,
    3,
    'order: "etdc" is no built-in plugin: did you mean etcd?'
  ],
  [
    '. {\n  order cache before cache\n  whoami\n}\n',
    '[[server]]\nkeys = "."\norder=["cache","before","cache"]\nwhoami=true\n',
    2,
    3,
    'order: cache cannot stand before itself, expected another plugin'
  ],
  [
    '. {\n  plugin corp/geo\n  whoami\n}\n',
    '[[server]]\nkeys = "."\nplugin="corp/geo"\nwhoami=true\n',
    2,
    3,
    'plugin: expected the name of a package, or a path such as ./mine.js, not "corp/geo"'
  ],
  [
    '. {\n  plugin ./mine.js\n  whoami\n}\n',
    '[[server]]\nkeys = "."\nplugin="./mine.js"\nwhoami=true\n',
    2,
    3,
    'plugin: ./mine.js cannot be loaded: there is no such file'
  ],
  [
    '. {\n  plugin mine\n  whoami\n}\n',
    '[[server]]\nkeys = "."\nplugin="mine"\nwhoami=true\n',
    2,
    3,
    'plugin: there is no package mine here: npm install mine; a file is a path such as ./mine.js'
  ],
  [
    '.:70000 {\n whoami\n}',
    '[[server]]\nkeys=".:70000"\nwhoami=true',
    1,
    2,
    '".:70000": the port "70000" is too high, expected 0 to 65535'
  ],
  [
    '127.0.0.1 {\n whoami\n}',
    '[[server]]\nkeys="127.0.0.1"\nwhoami=true',
    1,
    2,
    '"127.0.0.1": an address, expected a zone: bind takes addresses, and reverse zones are named such as 1.2.0.192.in-addr.arpa'
  ],
  ['tsl://. {\n whoami\n}', '[[server]]\nkeys="tsl://."\nwhoami=true', 1, 2, '"tsl://.": the scheme "tsl" is unknown, did you mean tls?'],
  [
    'tls://. {\n whoami\n}',
    '[[server]]\nkeys="tls://."\nwhoami=true',
    1,
    2,
    'tls://.: Skein does not serve tls:// yet, expected dns:// or no scheme'
  ],
  [
    '10.0.0.0/33 {\n whoami\n}',
    '[[server]]\nkeys="10.0.0.0/33"\nwhoami=true',
    1,
    2,
    '"10.0.0.0/33": looks like a network but is none, expected one such as 192.0.2.0/24 or 2001:db8::/32'
  ],
  [
    'a {\n whoami\n}\na {\n whoami\n}',
    '[[server]]\nkeys="a"\nwhoami=true\n[[server]]\nkeys="a"\nwhoami=true',
    4,
    5,
    'a: Corefile:1 serves a. on port 53 already, expected each zone once',
    'a: skein.toml:1 serves a. on port 53 already, expected each zone once'
  ],
  [
    '. {\n  loadbalance weighted f\n}\n',
    '[[server]]\nkeys = "."\nloadbalance=["weighted","f"]\n',
    2,
    3,
    'loadbalance: expected round_robin (weighted is not supported yet), not "weighted"'
  ],
  [
    '. {\n  forward 10.0.0.0/99 9.9.9.9\n}\n',
    '[[server]]\nkeys = "."\nforward=["10.0.0.0/99","9.9.9.9"]\n',
    2,
    3,
    'forward: "10.0.0.0/99": looks like a network but is none, expected one such as 192.0.2.0/24 or 2001:db8::/32'
  ],
  [
    '. {\n whoami\n',
    '[[server]\nkeys="."\n',
    2,
    1,
    'the file ends in the block that Corefile:1 opens, expected } on a line of its own',
    'the line ends here, expected ]'
  ],
  [
    '. {\n log "a\n}\n',
    '[[server]]\nkeys="\n',
    2,
    2,
    'a quote that is never closed, expected another "',
    'the line ends here, expected a closing quote on the same line'
  ]
])('%j, %j', async (corefile, toml, line, tomlLine, problem, tomlProblem = problem) => {
  const known = (text: string): string => text.replace('KNOWN', BUILT_IN.map(directiveName).sort().join(', '))
  expect(await errorsOf('Corefile', corefile)).toEqual([[line, known(problem)]])
  // Where another line is named it is that of the same file.
  expect(await errorsOf('skein.toml', toml)).toEqual([[tomlLine, known(tomlProblem)]])
})
