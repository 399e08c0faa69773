import { andThen, type Message, type Plugin, type Random, type Reply, type ResourceRecord, type Schema, shuffle } from 'skein/plugin'

const schema = {
  about: 'Shuffles the addresses in replies, so that clients that take the first one spread over all.',
  args: [
    {
      name: 'round_robin',
      type: 'text',
      pattern: /^round_robin$/,
      expected: 'round_robin (weighted is not supported yet)',
      optional: true,
      about: 'the one policy there is, also where it is left out'
    }
  ],
  options: { prefer: { status: 'later', about: 'addresses of these networks first' } }
} as const satisfies Schema

/** Shuffles the addresses in replies, so that clients that take the first one spread over all. */
export default {
  name: 'roundrobin',
  directives: ['loadbalance'],
  api: 1,
  schema,
  setup(_config, { random }) {
    const turn = (reply: Reply): Reply => (typeof reply === 'symbol' ? reply : shuffledReply(reply, random))
    return { reach: { answers: false }, handle: (query, next) => andThen(next(query), turn) }
  }
} satisfies Plugin<typeof schema>

/** A reply with its address sets in random order; the reply itself where none has two members. What it was made of stays as it is. */
function shuffledReply(reply: Message, random: Random): Message {
  const answer = shuffled(reply.answer, random)
  const additional = shuffled(reply.additional, random)
  if (answer === undefined && additional === undefined) return reply
  return reply.with({ answer: answer ?? reply.answer, additional: additional ?? reply.additional })
}

/**
 * The records with the members of each address set (RFC 2181 §5) in random order among the places that the set holds; undefined
 * where no set has two. All other records stay where they are, so a CNAME stays before what it leads to.
 */
function shuffled(records: readonly ResourceRecord[], random: Random): ResourceRecord[] | undefined {
  if (records.length < 2) return undefined
  let order: ResourceRecord[] | undefined
  for (const places of addressSets(records)) {
    if (places.length < 2) continue
    order ??= [...records]
    for (const [index, from] of shuffle([...places], random).entries()) order[places[index]!] = records[from]!
  }
  return order
}

/** Where the members of each address set stand. */
function addressSets(records: readonly ResourceRecord[]): Iterable<number[]> {
  const sets = new Map<string, number[]>()
  for (const [index, record] of records.entries()) {
    if (record.type !== 'A' && record.type !== 'AAAA') continue
    const key = `${record.type} ${record.class ?? 'IN'} ${record.owner.toLowerCase()}`
    const set = sets.get(key)
    if (set === undefined) sets.set(key, [index])
    else set.push(index)
  }
  return sets.values()
}
