import { andThen, type Plugin, type Reply, type Schema } from 'skein/plugin'

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
    const turn = (reply: Reply): Reply => (typeof reply === 'symbol' ? reply : reply.withAddressesShuffled(random))
    return { reach: { answers: false }, inPlace: true, handle: (query, next) => andThen(next(query), turn) }
  }
} satisfies Plugin<typeof schema>
