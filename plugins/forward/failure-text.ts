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
  EAFNOSUPPORT: 'address family not supported by protocol',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EINVAL: 'invalid argument',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files in system',
  ENOBUFS: 'no buffer space available',
  EMSGSIZE: 'message too long'
}

/** What went wrong as CoreDNS and SkyDNS say it: `read udp 127.0.0.1:4711->127.0.0.1:53: i/o timeout`. */
export function failureText(reason: string | NodeJS.ErrnoException, { transport, local, remote }: Ends): string {
  const where = local === undefined ? `dial ${transport} ${remote}` : `read ${transport} ${local}->${remote}`
  if (typeof reason === 'string') return `${where}: ${reason}`
  const step = local === undefined ? 'connect' : 'read'
  return `${where}: ${step}: ${WORDS[reason.code ?? ''] ?? reason.message}`
}

/** An address with its port, as Go writes them. */
export function endText(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
