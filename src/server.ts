/** The path of one query, start to end. */
import { answer, type Report } from './chain/answer.js'
import { refuse } from './chain/compose.js'
import type { Slot } from './listen/slot.js'
import { accept } from './message/gate.js'
import { Query } from './query.js'
import type { Block, Routes } from './route/route.js'

/** What all queries of a server have in common. */
export interface Serving {
  /** The operator's cap on UDP replies, in octets. */
  readonly udpSize: number
  readonly report: Report
}

/** Takes one request to the chain of its zone and class, and its reply back into the slot that it came in. */
export function serve(slot: Slot, routes: Routes<Block>, { udpSize, report }: Serving): void {
  const asked = accept(slot.octets, udpSize)
  if (asked.kind !== 'asked') return turnAway(slot, asked.kind === 'refused' ? asked.reply : undefined)
  const routed = routes.find(asked.question)
  const query = Query.fromRequest(asked, slot.client, routed?.apex ?? '.')
  answer(routed?.block.chains.of(asked.question.qclass) ?? refuse, query, slot, udpSize, report)
}

function turnAway(slot: Slot, reply: Uint8Array | undefined): void {
  if (reply === undefined) return slot.drop()
  slot.reserve(reply.length).set(reply)
  slot.send(reply.length)
}
