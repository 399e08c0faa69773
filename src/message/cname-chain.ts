import { sameName } from './name.js'
import type { ResourceRecord } from './record.js'
import type { RRType } from './registry.js'

/** Longer chains are no answer that anybody follows. */
const MOST_CNAMES = 16

/** Where the CNAMEs of an answer lead from the name asked for, and whether there are records of the type asked for; undefined for too many. */
export function endOfChain(
  { qname, qtype }: { readonly qname: string; readonly qtype: RRType },
  answer: readonly ResourceRecord[]
): { name: string; isAnswered: boolean } | undefined {
  let name = qname
  for (let cnames = 0; cnames <= MOST_CNAMES; cnames++) {
    let alias: string | undefined
    for (const { owner, type, rdata } of answer) {
      if (type !== qtype && type !== 'CNAME' && qtype !== 'ANY') continue
      if (!sameName(owner, name)) continue
      if (type === qtype || qtype === 'ANY') return { name, isAnswered: true }
      if (typeof rdata === 'string') alias = rdata
    }
    if (alias === undefined) return { name, isAnswered: false }
    name = alias.toLowerCase()
  }
  return undefined
}
