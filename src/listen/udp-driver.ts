import { ConfigError } from '../corefile/directive.js'
import { isBatchingKnown } from './batch/libc.js'
import { loadBatch } from './batch/open-batch.js'
import { openUdp } from './udp.js'

/** Listens for datagrams on one address. Port 0 takes a free one. */
export type OpenUdp = typeof openUdp

/** The environment variable that says how UDP sockets are driven. */
export const UDP_VARIABLE = 'SKEIN_UDP'

const DRIVERS = ['batch', 'dgram']

/**
 * How UDP sockets are driven: in batches where that is to be had, with `node:dgram` elsewhere. `wanted` is the operator's word: `batch`
 * or `dgram` for that one alone. Throws ConfigError where it is another, or cannot be had.
 */
export async function chooseUdp(
  wanted: string | undefined,
  tell: { info(text: string): void; debug(text: string): void },
  load: () => Promise<OpenUdp> = loadBatch
): Promise<OpenUdp> {
  if (wanted === 'dgram') return openUdp
  if (wanted !== undefined && wanted !== '' && !DRIVERS.includes(wanted))
    throw new ConfigError(`${UDP_VARIABLE} is ${JSON.stringify(wanted)}, expected ${DRIVERS.join(' or ')}`)
  try {
    return await load()
  } catch (error) {
    const { message } = error as Error
    if (wanted === 'batch')
      throw new ConfigError(`${UDP_VARIABLE} is batch, and UDP in batches cannot be had: ${message}`, undefined, { cause: error })
    // Elsewhere nobody expects it.
    tell[isBatchingKnown() ? 'info' : 'debug'](`UDP goes through node:dgram, a datagram at a time: ${message}`)
    return openUdp
  }
}
