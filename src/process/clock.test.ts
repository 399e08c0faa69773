import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from './clock.js'

const DAY_MS = 86_400_000

describe('a timer of the clock', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  test.each([0, 1, 1000, 2 ** 31 - 1, 2 ** 31, 100 * DAY_MS])('fires once, after %s ms and not before', (milliseconds) => {
    let fired = 0
    systemClock.after(milliseconds, () => fired++)
    vi.advanceTimersByTime(Math.max(0, milliseconds - 1))
    expect(fired).toBe(milliseconds === 0 ? fired : 0)
    vi.advanceTimersByTime(1)
    expect(fired).toBe(1)
    vi.advanceTimersByTime(2 ** 31)
    expect(fired).toBe(1)
  })

  test('of the past fires at once, and not within the call', () => {
    let fired = 0
    systemClock.after(-5, () => fired++)
    expect(fired).toBe(0)
    vi.advanceTimersByTime(1)
    expect(fired).toBe(1)
  })

  test('that is cancelled never fires, also when it is a long one that has begun', () => {
    let fired = 0
    const timer = systemClock.after(100 * DAY_MS, () => fired++)
    vi.advanceTimersByTime(50 * DAY_MS)
    timer.cancel()
    timer.cancel()
    vi.advanceTimersByTime(100 * DAY_MS)
    expect([fired, vi.getTimerCount()]).toEqual([0, 0])
  })
})

test('the clock tells the time, and how long something took', () => {
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000)
  const start = systemClock.monotonic()
  expect(systemClock.monotonic()).toBeGreaterThanOrEqual(start)
})
