import { describe, expect, test } from 'vitest'
import { Sharing } from './shares.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Makes numbered things, and writes down what happens to them. */
function maker(): { events: string[]; create: () => Promise<{ value: number; close(): Promise<void> }> } {
  const events: string[] = []
  let count = 0
  return {
    events,
    create: async () => {
      const value = ++count
      events.push(`opens ${value}`)
      await turn()
      return {
        value,
        close: async () => {
          events.push(`closes ${value}`)
          await turn()
          events.push(`closed ${value}`)
        }
      }
    }
  }
}

describe('what is shared', () => {
  test('is made once, however many take it at the same time', async () => {
    const { events, create } = maker()
    const sharing = new Sharing()
    const shares = await Promise.all([1, 2, 3].map(() => sharing.take('port', create)))
    expect(shares.map(({ value }) => value)).toEqual([1, 1, 1])
    expect((await sharing.take('other', () => ({ value: 'x' }))).value).toBe('x')
    expect(events).toEqual(['opens 1'])
  })

  test('is closed when the last user gives it back, and once', async () => {
    const { events, create } = maker()
    const sharing = new Sharing()
    const [one, two] = await Promise.all([sharing.take('port', create), sharing.take('port', create)])
    await one!.release()
    await one!.release()
    expect(events).toEqual(['opens 1'])
    await two!.release()
    await two!.release()
    expect(events).toEqual(['opens 1', 'closes 1', 'closed 1'])
  })

  test('is made anew after that, when the old one is closed', async () => {
    const { events, create } = maker()
    const sharing = new Sharing()
    const closing = (await sharing.take('port', create)).release()
    const again = await sharing.take('port', create)
    await closing
    expect(again.value).toBe(2)
    expect(events).toEqual(['opens 1', 'closes 1', 'closed 1', 'opens 2'])
    await again.release()
    expect(events.slice(4)).toEqual(['closes 2', 'closed 2'])
  })

  test('that cannot be made fails for all who wait, and is tried again for the next', async () => {
    const sharing = new Sharing()
    const failing = (): never => {
      throw new Error('in use')
    }
    const outcomes = await Promise.allSettled([sharing.take('port', failing), sharing.take('port', () => ({ value: 1 }))])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect((await sharing.take('port', () => ({ value: 2 }))).value).toBe(2)
  })

  test('that cannot be closed says so to the last user, and is made anew all the same', async () => {
    const sharing = new Sharing()
    const broken = { value: 1, close: () => Promise.reject(new Error('stuck')) }
    const release = (await sharing.take('port', () => broken)).release()
    const again = sharing.take('port', () => ({ value: 2 }))
    await expect(release).rejects.toThrow('stuck')
    expect((await again).value).toBe(2)
  })
})
