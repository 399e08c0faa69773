import type { Query, Sent } from 'skein/plugin'
import { serverOf } from 'skein/testing'
import { describe, expect, test } from 'vitest'
import { file, plugin } from './answering-plugin.testing.js'
import { type Picks, picked } from './pick.js'

/** What is logged of one question, or several, to a server with these lines in its block. */
async function linesOf(block: string, questions: string | readonly string[]): Promise<readonly string[]> {
  const server = await serverOf(`. {\n  ${block}\n}`, { file })
  for (const question of [questions].flat()) await server.ask(question).catch(() => {})
  await server.stop()
  return server.log.lines
}

const SOA =
  '{ owner: "example.", type: "SOA", ttl: 1, rdata: { mname: "a.", rname: "b.", serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 } }'
const NS = '{ owner: "example.", type: "NS", ttl: 1, rdata: "ns.example." }'
const A = '{ owner: query.qname, type: "A", ttl: 1, rdata: "192.0.2.7" }'

/** Replies, the type that was asked for, and their class. */
const replies: readonly [title: string, reply: string, qtype: string, of: string][] = [
  ['an answer', `query.reply({ answer: [${A}] })`, 'A', 'success'],
  ['an answer with an SOA beside it', `query.reply({ answer: [${A}], authority: [${SOA}] })`, 'A', 'success'],
  ['a referral', `query.reply({ authority: [${NS}] })`, 'A', 'success'],
  ['nothing at all', 'query.reply({})', 'A', 'success'],
  ['no such record', `query.reply({ authority: [${SOA}] })`, 'A', 'denial'],
  ['no such name', `query.reply({ rcode: "NXDOMAIN", authority: [${SOA}] })`, 'A', 'denial'],
  ['no such name, without an SOA', 'query.reply({ rcode: "NXDOMAIN" })', 'A', 'denial'],
  ['a refusal', 'query.reply({ rcode: "REFUSED" })', 'A', 'error'],
  ['SERVFAIL', 'query.reply({ rcode: "SERVFAIL", why: "x" })', 'A', 'error'],
  ['a drop', 'Symbol.for("skein.drop")', 'A', 'error'],
  ['a transfer', `query.reply({ answer: [${A}] })`, 'AXFR', 'error'],
  ['a part of one', `query.reply({ answer: [${A}] })`, 'IXFR', 'error']
]

describe('`class` takes replies as CoreDNS classifies them', () => {
  test.each(replies)('%s', async (_title, reply, qtype, of) => {
    const answering = plugin(`(query) => ${reply}`)
    for (const classes of ['success', 'denial', 'error', 'all', 'success error', 'error\n    class denial', 'success all']) {
      const words = classes.split(/\s+/)
      const lines = await linesOf(`log "{name}" {\n    class ${classes}\n  }\n  ${answering}`, `example. ${qtype}`)
      expect(lines, classes).toHaveLength(words.includes('all') || words.includes(of) ? 1 : 0)
    }
  })
})

const QUERY = { question: { qtype: 1 } } as Query
const ALL: Picks = { classes: ['all'], errors: false, slow: undefined, sample: undefined }

function sent(rcode: string, milliseconds: number): Sent {
  return { reply: { answer: [], authority: [] }, rcode, milliseconds } as unknown as Sent
}

describe('`errors`, `slow` and `sample` each pick some; where none stands all are logged', () => {
  // Of ten queries each takes a millisecond longer than the one before, from 0 on; the fourth is SERVFAIL, the seventh NXDOMAIN.
  const ten = Array.from({ length: 10 }, (_, at) => sent(at === 3 ? 'SERVFAIL' : at === 6 ? 'NXDOMAIN' : 'NOERROR', at))

  test.each<[Partial<Picks>, readonly number[]]>([
    [{}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [{ errors: true }, [3]],
    [{ slow: 8 }, [8, 9]],
    [{ slow: 0 }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [{ sample: 1 }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [{ sample: 4 }, [0, 4, 8]],
    [{ sample: 100 }, [0]],
    [{ errors: true, slow: 8 }, [3, 8, 9]],
    // One in three of those that nothing else picks: 0 1 2, 4 5 6, 7.
    [{ errors: true, slow: 8, sample: 3 }, [0, 3, 4, 7, 8, 9]],
    [{ classes: ['denial'] }, [6]],
    [{ classes: ['denial', 'error'] }, [3, 6]],
    [{ classes: ['success'], slow: 5 }, [5, 7, 8, 9]],
    [{ classes: ['success'], errors: true }, []],
    [{ classes: ['success'], sample: 4 }, [0, 5]],
    [{ classes: [] }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]
  ])('%j', (picks, logged) => {
    const isPicked = picked({ ...ALL, ...picks })
    expect(ten.flatMap((one, at) => (isPicked(QUERY, one) ? [at] : []))).toEqual(logged)
  })

  test('each `log` counts for itself', async () => {
    const logs = ['a', 'b'].map((name) => `log ${name} "{name}" {\n    sample 2\n  }`)
    const lines = await linesOf([...logs, 'whoami'].join('\n  '), ['a. A', 'b. A', 'a. A', 'b. A', 'a. A'])
    expect(lines).toEqual(['[INFO] a.', '[INFO] b.', '[INFO] a.'])
  })

  test('nothing is made of a query that is not logged', async () => {
    const strange = plugin('(query) => query.reply({ origin: { kind: "x", get upstream() { throw new Error("looked at") } } })')
    const lines = await linesOf(`log "{upstream}" {\n    class error\n  }\n  ${strange}`, 'example. A')
    expect(lines).toEqual([])
  })
})
