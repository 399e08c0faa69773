// Installs the Debian packages of the tools that tests ask and are not here: other DNS servers and clients, as second opinions.
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { interruptible, run } from '../src/prepare.mjs'

/** Which Debian package brings which command. */
export const packages = {
  dig: 'bind9-dnsutils',
  delv: 'bind9-dnsutils',
  unbound: 'unbound',
  nsd: 'nsd',
  knotd: 'knot',
  etcd: 'etcd-server',
  etcdctl: 'etcd-client',
  dnsperf: 'dnsperf',
  ip: 'iproute2',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  curl: 'curl',
  strace: 'strace',
  python3: 'python3',
  openssl: 'openssl',
  'dnssec-keygen': 'bind9-utils',
  'dnssec-dsfromkey': 'bind9-utils',
  'dnssec-signzone': 'bind9-utils',
  'dnssec-verify': 'bind9-utils',
  drill: 'ldnsutils',
  'ldns-keygen': 'ldnsutils',
  faketime: 'faketime',
  'systemd-socket-activate': 'systemd'
}

const policyFile = '/usr/sbin/policy-rc.d'
const policy = '#!/bin/sh\n# Written while the tools of the tests are installed: no service starts by itself.\nexit 101\n'

/** The commands of the list that are not on this machine. */
export function missingTools() {
  return Object.keys(packages).filter((name) => !isHere(name))
}

/** Installs what is missing where that can be done, one line a step; the tools that are missing after all. */
export async function installTools(say = console.log) {
  const missing = missingTools()
  if (missing.length === 0) return []
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    say(`not installed, for want of root or of apt-get: ${missing.join(', ')}`)
    return missing
  }
  const giveBack = holdServices()
  try {
    await installPackages([...new Set(missing.map((name) => packages[name]))], say)
  } finally {
    giveBack()
  }
  const left = missingTools()
  if (left.length > 0) say(`still missing: ${left.join(', ')}`)
  return left
}

async function installPackages(names, say) {
  say('apt-get update…')
  const update = await aptGet(['update'])
  if (update.code !== 0) say(update.output.trimEnd())
  say(`installing ${names.join(' ')}…`)
  const together = await aptGet(['install', '--yes', '--no-install-recommends', ...names])
  if (together.code === 0) return
  say(together.output.trimEnd())
  if (names.length === 1) return
  // One name that this Debian does not have would keep all others out.
  for (const name of names) {
    say(`installing ${name} alone…`)
    const alone = await aptGet(['install', '--yes', '--no-install-recommends', name])
    if (alone.code !== 0) say(`${name} cannot be installed here`)
  }
}

function aptGet(args) {
  return run('apt-get', ['-q', ...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' } })
}

// A server started by its package would take port 53 and answer in place of the one under test.
function holdServices() {
  const isOurs = existsSync(policyFile) && readFileSync(policyFile, 'utf8') === policy // left by a run that was killed
  if (existsSync(policyFile) && !isOurs) return () => undefined
  writeFileSync(policyFile, policy, { mode: 0o755 })
  const remove = () => rmSync(policyFile, { force: true })
  process.once('exit', remove)
  return () => {
    process.off('exit', remove)
    remove()
  }
}

// Servers stand in sbin, which is not in every user's PATH.
function isHere(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin']
  return folders.some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const missing = await interruptible(() => installTools())
  process.exitCode = missing.length > 0 ? 1 : 0
}
