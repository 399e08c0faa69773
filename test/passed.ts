/** Servers that are started as a service manager does it which passes them sockets. */
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { readAnswer, requestOctets } from '../src/testing.js'
import { MAIN } from './command.js'
import { sendDatagrams, sendStream } from './dns-client.js'
import { type Running, startProcess, temporaryFolder } from './processes.js'
import { tool } from './tools.js'

/** A socket to pass; the last four are of no use to a DNS server. */
export type Passing = readonly [
  kind: 'udp' | 'tcp' | 'udp-ipv6-only' | 'tcp-silent' | 'udp-connected' | 'unix' | 'file',
  address?: string,
  port?: number
]

/** How to start the server. */
export interface PassedOptions {
  readonly env?: Record<string, string>
  /** LISTEN_PID, where it is not to be the server's. */
  readonly pid?: number
  /** LISTEN_FDS, where it is not to be the number of sockets. */
  readonly count?: string
  /** Who runs the server; the sockets are bound before. */
  readonly uid?: number
  readonly ready?: RegExp
  /** `run` where left out. */
  readonly command?: readonly string[]
}

/** Binds the sockets, puts them at descriptors from 3 on, gives up its rights, and becomes the server: LISTEN_PID is its own. */
const PARENT = `
import fcntl, json, os, socket, sys
spec = json.loads(sys.argv[1])
def opened(kind, address='', port=0):
    if kind == 'file': return os.open('/dev/null', os.O_RDONLY)
    if kind == 'unix': return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach()
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    it = socket.socket(family, socket.SOCK_STREAM if kind.startswith('tcp') else socket.SOCK_DGRAM)
    if family == socket.AF_INET6: it.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, kind == 'udp-ipv6-only')
    if kind.startswith('tcp'): it.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    it.bind((address, port))
    if kind == 'tcp': it.listen(64)
    if kind == 'udp-connected': it.connect((address, 9))
    return it.detach()
high = [fcntl.fcntl(opened(*each), fcntl.F_DUPFD_CLOEXEC, 200) for each in spec['sockets']]
for index, fd in enumerate(high): os.dup2(fd, 3 + index)
os.environ['LISTEN_PID'] = str(spec.get('pid', os.getpid()))
os.environ['LISTEN_FDS'] = spec.get('count', str(len(high)))
os.environ['LISTEN_FDNAMES'] = ':'.join(each[0] for each in spec['sockets'])
if 'uid' in spec:
    os.setgroups([])
    os.setgid(spec['uid'])
    os.setuid(spec['uid'])
os.execv(sys.argv[2], sys.argv[2:])
`

/** A server that was passed sockets, and the folder of its Corefile. */
export type PassedServer = Running & { readonly cwd: string }

/** Starts the server with these sockets, and waits until it says that it runs, or `ready`; it ends with the test. */
export async function startPassed(sockets: readonly Passing[], corefile: string, options: PassedOptions = {}): Promise<PassedServer> {
  const { env, ready = /Skein-\d/, command = ['run'], ...spec } = options
  const cwd = folderWith(corefile)
  const args = ['-c', PARENT, JSON.stringify({ sockets, ...spec }), process.execPath, MAIN, ...command]
  const session = sessionFolder(cwd, spec.uid)
  const running = await startProcess(tool('python3'), args, { cwd, env: { XDG_RUNTIME_DIR: session, ...env }, ready })
  onTestFinished(async () => void (await running.stop()))
  return { ...running, cwd }
}

/** A folder for the control socket that is the server's own. */
function sessionFolder(cwd: string, uid: number | undefined): string {
  const path = join(cwd, 'session')
  mkdirSync(path, { mode: 0o700 })
  if (uid !== undefined) chownSync(path, uid, uid)
  return path
}

/** A folder with that Corefile, which anybody may read; it goes with the test. */
export function folderWith(corefile: string): string {
  const folder = temporaryFolder()
  const { path } = folder
  onTestFinished(() => folder.remove())
  chmodSync(path, 0o777)
  writeFileSync(join(path, 'Corefile'), corefile)
  return path
}

/** A server block that says who asks. */
export function block(port: number, ...lines: string[]): string {
  return [`.:${port} {`, ...[...lines, 'whoami'].map((line) => `  ${line}`), '}', ''].join('\n')
}

/** Who the server says has asked it; or what was wrong, such as a reply from another address than the one asked. */
export async function whoAsked(transport: 'udp' | 'tcp', address: string, port: number): Promise<string> {
  const server = { address, port }
  const question = Buffer.from(requestOctets('example.org. A', { id: 7 })).toString('hex')
  const framed = `${(question.length / 2).toString(16).padStart(4, '0')}${question}`
  const { messages, faults } = await (transport === 'udp' ? sendDatagrams(server, [question], 1) : sendStream(server, [framed], 1, false))
  if (faults.length > 0) return faults.join()
  return messages[0] === undefined ? 'silence' : askerIn(messages[0])
}

/** Who has asked, by a reply of `whoami`. */
export function askerIn(reply: Uint8Array): string {
  const [, address = 'nobody'] = /\bA{1,4} +(\S+)/.exec(readAnswer(reply).additional.join('\n')) ?? []
  return address
}

/** What the server has warned of. */
export function warningsOf(running: Running): string[] {
  return [...running.output().matchAll(/\[WARNING\] (.*)/g)].map(([, text = '']) => text)
}
