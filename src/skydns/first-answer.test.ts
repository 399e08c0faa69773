import { describe, expect, test } from 'vitest'
import { firstAnswer } from './first-answer.js'

/** Longer than a test may take. */
const NEVER_MS = 3_600_000

type Try = 'answers' | 'fails' | 'is silent'

/** What is come to, and who was asked. */
async function outcome(tries: readonly Try[], apartMs: number): Promise<{ ends: unknown; asked: number[] }> {
  const asked: number[] = []
  const asks = tries.map((each, index) => () => {
    asked.push(index)
    if (each === 'is silent') return new Promise<string>(() => {})
    return each === 'answers' ? Promise.resolve(`answer ${index}`) : Promise.reject(new Error(`failure ${index}`))
  })
  const ends = await firstAnswer(asks, apartMs).catch((error: AggregateError) => error.errors.map(({ message }: Error) => message))
  return { ends, asked }
}

describe('the first answer counts', () => {
  test.each<[Try[], number, unknown, number[]]>([
    [['answers', 'answers'], NEVER_MS, 'answer 0', [0]],
    [['fails', 'answers', 'answers'], NEVER_MS, 'answer 1', [0, 1]],
    [['fails', 'fails', 'answers'], NEVER_MS, 'answer 2', [0, 1, 2]],
    [['is silent', 'answers'], 1, 'answer 1', [0, 1]],
    [['is silent', 'is silent', 'fails', 'answers'], 1, 'answer 3', [0, 1, 2, 3]],
    [['fails', 'fails'], NEVER_MS, ['failure 0', 'failure 1'], [0, 1]]
  ])('%j with %i ms between two', async (tries, apartMs, ends, asked) => {
    expect(await outcome(tries, apartMs)).toEqual({ ends, asked })
  })

  test('nobody is asked after it', async () => {
    const asked: number[] = []
    let fail = (_: Error): void => {}
    const late = new Promise<string>((_, reject) => {
      fail = reject
    })
    const asks = [() => late, () => Promise.resolve('answer'), () => Promise.resolve(String(asked.push(2)))]
    expect(await firstAnswer(asks, 1)).toBe('answer')
    fail(new Error('too late'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(asked).toEqual([])
  })
})
