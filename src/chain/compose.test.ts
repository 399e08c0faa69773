import { createHook } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { Message } from '../message/message.js'
import { Question } from '../message/question.js'
import { classNumber } from '../message/registry.js'
import { andThen, type Handler, type Layer } from '../plugin.js'
import { Query } from '../query.js'
import { Chains, compose, refuse } from './compose.js'

const client = { address: '192.0.2.1', port: 4711, transport: 'udp', local: '127.0.0.1' } as const

function query(qname = 'example.org.', qclass = 1): Query {
  return new Query(Question.of(qname, 1, qclass), client, '.', 0, undefined)
}

const pass: Handler = (asked, next) => next(asked)
const look: Handler = (asked, next) => andThen(next(asked), (reply) => reply)

/** How many promises come to be while `run` runs. */
function promisesOf(run: () => void): number {
  let promises = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises++
    }
  }).enable()
  try {
    run()
  } finally {
    hook.disable()
  }
  return promises
}

describe('a chain of layers', () => {
  test('makes no promise where each layer is synchronous', () => {
    const chain = compose([pass, look, pass, look, pass, look, pass, look])
    const asked = query()
    let reply: unknown
    const run = (): void => {
      reply = chain(asked)
    }
    expect(promisesOf(run)).toBe(0)
    expect(reply).toBeInstanceOf(Message)
  })

  test('is seen to make promises where a layer is asynchronous', () => {
    const slow: Handler = async (asked, next) => next(asked)
    expect(promisesOf(() => void compose([look, slow])(query()))).toBeGreaterThan(0)
  })

  test('refuses at its end, and says that nobody here serves the name', () => {
    const reply = compose([])(query()) as Message
    expect([reply.rcode, reply.why, reply.origin]).toEqual(['REFUSED', 'not-served', { kind: 'none' }])
  })

  test('asks the rest as often as a layer likes, with other queries', () => {
    const seen: string[] = []
    const twice: Handler = (asked, next) => {
      void next(asked.with({ qname: 'one.example.org.' }))
      return next(asked.with({ qname: 'two.example.org.' }))
    }
    void compose([twice], (asked) => {
      seen.push(asked.qname)
      return refuse(asked)
    })(query())
    expect(seen).toEqual(['one.example.org.', 'two.example.org.'])
  })

  test('keeps a layer that is an object of a class whole', () => {
    class Counting implements Layer {
      count = 0

      handle(asked: Query): Message {
        this.count++
        return asked.reply({})
      }
    }
    const layer = new Counting()
    void new Chains([{ layer, classes: ['IN'] }]).of(1).run(query())
    expect(layer.count).toBe(1)
  })
})

describe('a layer sees the classes that its plugin asks for', () => {
  const layers = (
    [
      ['in', ['IN']],
      ['ch', ['CH']],
      ['both', ['IN', 'CH']],
      ['by number', ['CLASS3']],
      ['odd', ['CLASS4711']],
      ['all', ['*']]
    ] as const
  ).map(([name, classes]) => {
    const handle: Handler = (asked, next) => {
      seen.push(name)
      return next(asked)
    }
    return { layer: { handle }, classes }
  })
  const seen: string[] = []
  const chains = new Chains(layers)

  test.each<[string, string]>([
    ['IN', 'in, both, all'],
    ['CH', 'ch, both, by number, all'],
    ['HS', 'all'],
    ['ANY', 'all'],
    ['CLASS4711', 'odd, all'],
    ['CLASS65280', 'all']
  ])('%s', async (qclass, expected) => {
    seen.length = 0
    const number = classNumber(qclass)!
    const reply = (await chains.of(number).run(query('example.org.', number))) as Message
    expect(seen.join(', ')).toBe(expected)
    expect(reply.rcode).toBe('REFUSED')
  })

  test('and a class nobody asks for is refused', () => {
    const chains = new Chains([{ layer: { handle: (asked) => asked.reply({}) }, classes: ['IN'] }])
    expect((chains.of(3).run(query('example.org.', 3)) as Message).rcode).toBe('REFUSED')
  })

  test('a layer without a handler is in no chain', () => {
    expect((new Chains([{ layer: {}, classes: ['*'] }]).of(1).run(query()) as Message).rcode).toBe('REFUSED')
  })
})

describe('what belongs to somebody else', () => {
  const source = { octets: new Uint8Array(), keep: () => void kept.push('query') }
  const kept: string[] = []
  class Borrowed extends Message {
    constructor() {
      super(undefined, 0, {})
    }

    override keep(): Message {
      kept.push('reply')
      return this
    }
  }
  const asked = (): Query => new Query(Question.of('a.', 1, 1), client, '.', 0, undefined, 0, 0, 0, undefined, source)
  const last: Layer = { inPlace: true, handle: () => new Borrowed() }
  const chainOf = (...layers: Layer[]): Chains => new Chains(layers.map((layer) => ({ layer, classes: ['*'] })))

  test.each<[string, Layer[], string[]]>([
    ['nothing for layers that use it in place', [{ inPlace: true, handle: pass }, { inPlace: true, handle: look }, last], []],
    ['the query and what comes back for any other', [{ handle: pass }, last], ['query', 'reply']],
    ['what comes back not where it comes later', [{ handle: pass }, { inPlace: true, handle: async () => new Borrowed() }], ['query']],
    ['the query for the layer that answers', [{ inPlace: true, handle: pass }, { handle: () => new Borrowed() }], ['query']]
  ])('is copied: %s', async (_title, layers, expected) => {
    kept.length = 0
    await chainOf(...layers)
      .of(1)
      .run(asked())
    expect(kept).toEqual(expected)
  })

  test('is said to be kept by observers that do not say otherwise', () => {
    const observersKeep = (...layers: Layer[]): unknown => chainOf(...layers).of(1).observersKeep
    const observe = (): void => {}
    expect([observersKeep({ inPlace: true, observe }), observersKeep({ inPlace: true, observe }, { observe }), observersKeep()]).toEqual([
      false,
      true,
      false
    ])
  })

  test('a layer in JavaScript that returns nothing is told of elsewhere', () => {
    const nothing = (() => undefined) as unknown as Handler
    expect(chainOf({ handle: pass }, { inPlace: true, handle: nothing }).of(1).run(asked())).toBeUndefined()
  })
})
