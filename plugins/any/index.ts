import { isMetaType, type Plugin, type Schema, signsReplies } from 'skein/plugin'

/** RFC 8482 §4.2, in CoreDNS's words. */
const OBSOLETED = { cpu: 'ANY obsoleted', os: 'See RFC 8482' }
const TTL = 8482

const schema = {
  about: 'Gives a short answer to questions for type ANY, or refuses them and their like.',
  args: [
    {
      name: 'refuse',
      type: 'choice',
      of: ['refuse'],
      optional: true,
      about: 'refuses every type that asks for something else than records of a type'
    }
  ]
} as const satisfies Schema

/** Answers questions for type ANY shortly, or refuses them and their like. */
export default {
  name: 'any',
  api: 1,
  classes: ['*'],
  schema,
  setup({ args: [word] }, host) {
    // Whoever signs stands behind, and offers it after this has started.
    let signers: readonly NonNullable<typeof signsReplies.type>[] | undefined
    return {
      reach: { answers: false },
      inPlace: true,
      handle(query, next) {
        if (word === 'refuse') return isMetaType(query.question.qtype) ? query.fail('REFUSED', 'meta-type') : next(query)
        if (query.qtype !== 'ANY') return next(query)
        const reply = query.reply({ aa: true, answer: [{ owner: query.qname, type: 'HINFO', ttl: TTL, rdata: OBSOLETED }], why: 'any' })
        if (!query.dnssecOk || query.qclass !== 'IN') return reply
        signers ??= host.find(signsReplies)
        return signers[0]?.(query, reply) ?? reply
      },
      refreshed() {
        signers = undefined
      }
    }
  }
} satisfies Plugin<typeof schema>
