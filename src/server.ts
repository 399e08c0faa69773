/** The path of one query, start to end. */
import { answer, type Serving } from './chain/answer.js'
import { NO_CHAIN } from './chain/compose.js'
import type { Slot } from './listen/slot.js'
import { accept } from './message/gate.js'
import { Query } from './query.js'
import type { Block, Routes } from './route/route.js'

/** Takes one request to the chain of its zone and class, and its reply back into the slot that it came in. */
export function serve(slot: Slot, routes: Routes<Block>, serving: Serving): void {
  const asked = accept(slot, serving.udpSize, slot.length)
  if (asked.kind !== 'asked') return turnAway(slot, asked.kind === 'refused' ? asked.reply : undefined)
  const routed = routes.find(asked.question)
  const query = Query.fromRequest(asked, slot.client, routed?.apex ?? '.', serving.clock.monotonic())
  answer(routed?.block.chains.of(asked.question.qclass) ?? NO_CHAIN, query, slot, serving)
}

function turnAway(slot: Slot, reply: Uint8Array | undefined): void {
  if (reply === undefined) return slot.drop()
  slot.reserve(reply.length).set(reply)
  slot.send(reply.length)
}
