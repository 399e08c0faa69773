/** Where an HTTP end of a plugin listens, as a Corefile says it. */
import { isIPv6 } from 'node:net'
import { ipv6Octets, ipv6Text } from '../message/address.js'
import { shownAddress } from '../query.js'

/** 0 to 65535. */
const PORT = '(?:[0-5]?\\d{1,4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'

/** The pattern of an argument that says where: `HOST:PORT`, `[ADDRESS]:PORT`, or `:PORT` for all addresses of the machine. */
export const HTTP_ADDRESS = new RegExp(`^(?:\\[[^\\][]+\\]|[^:\\][]*):${PORT}$`)

/** Where an HTTP end listens. */
export interface HttpPlace {
  /** In one spelling for each place, which is good as a key of `host.shared`. */
  readonly text: string
  /** An address without brackets, or a name; empty for all addresses. */
  readonly host: string
  readonly port: number
  /** The addresses that it stands for, for a layer's `reach`. */
  readonly listens: readonly { readonly address: string; readonly port: number }[]
}

/** Reads what fits {@link HTTP_ADDRESS}. `localhost` is 127.0.0.1. */
export function httpPlace(given: string): HttpPlace {
  const [, word = '', digits = ''] = /^(.*):(\d+)$/.exec(given) ?? []
  const host = oneSpelling(word.replace(/^\[(.*)\]$/, '$1'))
  const port = Number(digits)
  const addresses = host === '' ? ['0.0.0.0', '::'] : [host]
  return { text: shownAddress(host, port), host, port, listens: addresses.map((address) => ({ address, port })) }
}

function oneSpelling(host: string): string {
  // Go prefers IPv4 for this name, Node what the resolver says first.
  if (/^localhost$/i.test(host)) return '127.0.0.1'
  const octets = isIPv6(host) ? ipv6Octets(host) : undefined
  return octets === undefined ? host : ipv6Text(octets)
}
