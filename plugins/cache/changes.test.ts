import { type Host, type StoreChange, storeChanges } from 'skein/plugin'
import { expect, test } from 'vitest'
import { Changes } from './changes.js'

function listening(): { changes: Changes; readonly change: (...hashes: number[]) => void; told: number[][]; listeners: Set<unknown> } {
  const listeners = new Set<(change: StoreChange) => void>()
  const listen = (changed: (change: StoreChange) => void) => {
    listeners.add(changed)
    return () => void listeners.delete(changed)
  }
  const told: number[][] = []
  const host = { find: (offer: unknown) => (offer === storeChanges ? [listen] : []) } as unknown as Host
  const changes = new Changes(host, (hashes) => told.push([...hashes]))
  changes.listen()
  changes.listen()
  return {
    changes,
    told,
    listeners,
    change: (...hashes) => {
      for (const listener of listeners) listener({ keys: [], revision: 1, hashes })
    }
  }
}

test('a change is told once, and no more after the end', () => {
  const { changes, change, told, listeners } = listening()
  change(1, 2)
  expect(told).toEqual([[1, 2]])
  changes.stop()
  expect(listeners.size).toBe(0)
  changes.listen()
  expect(listeners.size).toBe(0)
})

test('what was read before a change of it is touched, and nothing else', () => {
  const { changes, change } = listening()
  change(1)
  const { count } = changes
  change(2)
  const touched = (since: number, ...reads: number[]): boolean => changes.touch(new Set(reads), since)
  expect([touched(count, 1), touched(count, 2), touched(count, 3, 2), touched(count), touched(0, 1), touched(count + 1, 2)]).toEqual([
    false,
    true,
    true,
    false,
    true,
    false
  ])
})

test('what is forgotten counts as touched', () => {
  const { changes, change } = listening()
  const { count } = changes
  for (let i = 0; i < 11_000; i++) change(i)
  expect(changes.touch(new Set([-1]), count)).toBe(true)
  expect(changes.touch(new Set([-1]), changes.count)).toBe(false)
  change(-2)
  expect(changes.touch(new Set([-1]), changes.count - 1)).toBe(false)
})
