/** The two ends of a failed attempt. */
export interface Ends {
  readonly transport: 'udp' | 'tcp'
  /** Undefined where no connection came to be. */
  readonly local: string | undefined
  readonly remote: string
}

/** How Go words the errors of sockets. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EPIPE: 'broken pipe',
  ETIMEDOUT: 'connection timed out',
  ENETUNREACH: 'network is unreachable',
  EHOSTUNREACH: 'no route to host',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EADDRINUSE: 'address already in use',
  EAFNOSUPPORT: 'address family not supported by protocol',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EINVAL: 'invalid argument',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files in system',
  ENOMEM: 'cannot allocate memory',
  EAGAIN: 'resource temporarily unavailable',
  ENOBUFS: 'no buffer space available',
  EMSGSIZE: 'message too long'
}

/** Errors of this machine, which has no descriptor, memory or port left: the upstream has no part in them. */
const OURS: readonly (string | undefined)[] = ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EADDRINUSE', 'EAGAIN']

/** Whether an error tells nothing of the upstream. */
export function isOurs({ code }: NodeJS.ErrnoException): boolean {
  return OURS.includes(code)
}

/** What went wrong as CoreDNS and SkyDNS say it: `read udp 127.0.0.1:4711->127.0.0.1:53: i/o timeout`. */
export function failureText(reason: string | NodeJS.ErrnoException, { transport, local, remote }: Ends): string {
  const where = local === undefined ? `dial ${transport} ${remote}` : `read ${transport} ${local}->${remote}`
  if (typeof reason === 'string') return `${where}: ${reason}`
  const isWithoutSocket = reason.code === 'EMFILE' || reason.code === 'ENFILE'
  const step = isWithoutSocket ? 'socket' : local === undefined ? 'connect' : 'read'
  return `${where}: ${step}: ${WORDS[reason.code ?? ''] ?? reason.message}`
}
