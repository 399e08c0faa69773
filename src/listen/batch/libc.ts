import type { PollEvents, PollHandle } from 'koffi'
import { thrownText } from '../../message/one-line.js'
import { AF_INET, MSG_DONTWAIT, SOCK_DGRAM_ALONE } from './layout.js'

/**
 * The calls of libc that move datagrams, and what goes with them. As in C: -1 says that a call failed, and `errno` why. Pointers are
 * numbers from `addressOf`, or a typed array where the call is over before anything else happens.
 */
export interface Libc {
  socket(family: number, type: number, protocol: number): number
  setsockopt(fd: number, level: number, option: number, value: Uint8Array, length: number): number
  getsockopt(fd: number, level: number, option: number, value: Uint8Array, length: Uint8Array): number
  bind(fd: number, name: Uint8Array, length: number): number
  listen(fd: number, backlog: number): number
  connect(fd: number, name: Uint8Array, length: number): number
  fcntl(fd: number, command: number, argument: number): number
  getsockname(fd: number, name: Uint8Array, length: Uint8Array): number
  getpeername(fd: number, name: Uint8Array, length: Uint8Array): number
  close(fd: number): number
  recvmmsg(fd: number, headers: bigint, count: number, flags: number, timeout: null): number
  sendmmsg(fd: number, headers: bigint, count: number, flags: number): number
  if_nametoindex(name: string): number
  if_indextoname(index: number, name: Uint8Array): bigint | null
  errno(): number
  /** The memory of a typed array that is alive does not move: Node itself reads files into it from other threads. */
  addressOf(view: ArrayBufferView): bigint
  /** Has the event loop wait for the descriptor too. The callback runs outside of Node's bookkeeping: it throws nothing, and leaves what it has to do to `setImmediate`. */
  watch(fd: number, events: PollEvents, callback: Watching): PollHandle
}

/** Told what the descriptor is ready for; `status` is negative where it has an error, and is not waited for any more then. */
export type Watching = (status: number, events: PollEvents) => void
export type { PollEvents, PollHandle }

const ARCHITECTURES = ['x64', 'arm64']

/** Whether datagrams can be had in batches on a machine like this one, if nothing is wrong. */
export function isBatchingKnown(platform = process.platform, arch: string = process.arch): boolean {
  return platform === 'linux' && ARCHITECTURES.includes(arch)
}

/** Loads libc, and tries that it does what is asked of it here. Throws an Error that says in one line why not. */
export async function loadLibc(): Promise<Libc> {
  if (!isBatchingKnown()) throw new Error(`the layout of memory is known for Linux on ${ARCHITECTURES.join(' and ')} alone`)
  const libc = await bindCalls().catch((error: unknown) => {
    throw new Error(`koffi cannot be loaded: ${thrownText(error)}`, { cause: error })
  })
  tryCalls(libc)
  return libc
}

async function bindCalls(): Promise<Libc> {
  const { default: koffi } = await import('koffi')
  const { node } = koffi
  if (node?.poll === undefined) throw new Error('it has no node.poll')
  const linked = koffi.load(null)
  return {
    socket: linked.func('int socket(int, int, int)'),
    setsockopt: linked.func('int setsockopt(int, int, int, void *, unsigned int)'),
    getsockopt: linked.func('int getsockopt(int, int, int, void *, void *)'),
    bind: linked.func('int bind(int, void *, unsigned int)'),
    listen: linked.func('int listen(int, int)'),
    connect: linked.func('int connect(int, void *, unsigned int)'),
    fcntl: linked.func('int fcntl(int, int, int)'),
    getsockname: linked.func('int getsockname(int, void *, void *)'),
    getpeername: linked.func('int getpeername(int, void *, void *)'),
    close: linked.func('int close(int)'),
    recvmmsg: linked.func('int recvmmsg(int, void *, unsigned int, int, void *)'),
    sendmmsg: linked.func('int sendmmsg(int, void *, unsigned int, int)'),
    if_nametoindex: linked.func('unsigned int if_nametoindex(const char *)'),
    if_indextoname: linked.func('void *if_indextoname(unsigned int, void *)'),
    errno: () => koffi.errno(),
    addressOf: (view) => koffi.address(view),
    watch: (fd, events, callback) => node.poll!(fd, events, callback)
  }
}

/** A sandbox may forbid the calls that move many datagrams, and an emulation may lack them. */
function tryCalls(libc: Libc): void {
  const fd = libc.socket(AF_INET, SOCK_DGRAM_ALONE, 0)
  if (fd < 0) throw new Error(`socket fails with errno ${libc.errno()}`)
  try {
    const nothing = libc.addressOf(new Uint8Array(64))
    for (const call of ['recvmmsg', 'sendmmsg'] as const)
      if (libc[call](fd, nothing, 0, MSG_DONTWAIT, null) !== 0) throw new Error(`${call} fails with errno ${libc.errno()}`)
  } finally {
    libc.close(fd)
  }
}
