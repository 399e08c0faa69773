import { isMetaType, type Plugin } from 'skein/plugin'

/** RFC 8482 §4.2, in CoreDNS's words. */
const OBSOLETED = { cpu: 'ANY obsoleted', os: 'See RFC 8482' }
const TTL = 8482

/** Answers questions for type ANY shortly, or refuses them and their like. */
export default {
  name: 'any',
  api: 1,
  classes: ['*'],
  setup(directive) {
    const [word] = directive.args
    if (word !== undefined && word !== 'refuse') directive.fail(`expected no argument or refuse, not ${JSON.stringify(word)}`)
    directive.noMoreThan(1)
    directive.noBlock()
    return {
      handle(query, next) {
        if (word === 'refuse') return isMetaType(query.question.qtype) ? query.fail('REFUSED', 'meta-type') : next(query)
        if (query.qtype !== 'ANY') return next(query)
        return query.reply({ aa: true, answer: [{ owner: query.qname, type: 'HINFO', ttl: TTL, rdata: OBSOLETED }], why: 'any' })
      }
    }
  }
} satisfies Plugin
