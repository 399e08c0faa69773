/** What listens besides DNS: two cannot have one address. */
import { isIP } from 'node:net'
import type { Stores } from '../chain/scope.js'
import { ConfigError, type Directive, placeText } from '../corefile/directive.js'
import { withoutBrackets } from '../corefile/zone.js'
import { isWildcard } from '../listen/addresses.js'
import { shownAddress } from '../query.js'
import type { BuiltBlock, PlannedEndpoint } from './plan.js'

/** An address that somebody besides DNS listens on. */
export interface Listening {
  readonly address: string
  readonly port: number
  /** What for, in words. */
  readonly what: string
  readonly directive: Directive
  /** Whether the start fails where it cannot. */
  readonly isNeeded: boolean
}

/** The addresses of keys APIs, and those that layers say they listen on; not of free ports, and not of names. */
export function listeningOf(blocks: readonly BuiltBlock[], used: Stores['used']): Listening[] {
  const apis = used.flatMap(({ options: { api = '' }, at }) => {
    const [, host = '', digits = ''] = /^(.+):(\d+)$/.exec(api) ?? []
    return [{ address: withoutBrackets(host), port: Number(digits), what: 'its keys API', directive: at, isNeeded: true }]
  })
  const others = blocks.flatMap(({ chain }) =>
    chain.configured.flatMap(({ layer, directive }) =>
      (layer.reach?.listens ?? []).map(({ address, port, needed = false }) => ({
        address,
        port,
        what: directive.name,
        directive,
        isNeeded: needed
      }))
    )
  )
  return [...apis, ...others].filter(({ address, port }) => isIP(address) !== 0 && port > 0)
}

/** Fails for each that is to listen where DNS is served, or where another one is; equal ones at one address are shared. */
export function checkListening(all: readonly Listening[], plan: readonly PlannedEndpoint[], fail: (error: ConfigError) => void): void {
  for (const [index, { address, port, what, directive }] of all.entries()) {
    const taken = plan.find((endpoint) => endpoint.port === port && overlap(endpoint.address, address))
    const other = all
      .slice(0, index)
      .find((before) => (before.what !== what || before.address !== address) && before.port === port && overlap(before.address, address))
    const who = taken === undefined ? other && shownOther(other) : 'DNS'
    if (who === undefined) continue
    const shown = shownAddress(address, port)
    fail(new ConfigError(`${directive.name}: ${what} is to listen on ${shown}, where ${who} is, expected another port`, directive.at))
  }
}

function shownOther({ what, directive }: Listening): string {
  return `${what} of ${placeText(directive.at)}`
}

function overlap(one: string, other: string): boolean {
  if (one.includes(':') !== other.includes(':')) return false
  return one === other || isWildcard(one) || isWildcard(other)
}
