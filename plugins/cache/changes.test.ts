import { type Host, type StoreChange, storeChanges } from 'skein/plugin'
import { expect, test } from 'vitest'
import { Changes } from './changes.js'
import { Marks } from './marks.js'

function listening(): { changes: Changes; readonly change: (...hashes: number[]) => void; marks: Marks; listeners: Set<unknown> } {
  const listeners = new Set<(change: StoreChange) => void>()
  const listen = (changed: (change: StoreChange) => void) => {
    listeners.add(changed)
    return () => void listeners.delete(changed)
  }
  const marks = new Marks()
  const host = { find: (offer: unknown) => (offer === storeChanges ? [listen] : []) } as unknown as Host
  const changes = new Changes(host, marks)
  changes.listen()
  changes.listen()
  return {
    changes,
    marks,
    listeners,
    change: (...hashes) => {
      for (const listener of listeners) listener({ keys: [], revision: 1, hashes })
    }
  }
}

test('a change is noted once, and no more after the end', () => {
  const { changes, change, marks, listeners } = listening()
  change(1, 2)
  expect([marks.count, marks.touch([1], 0), marks.touch([2], 0), marks.touch([3], 0)]).toEqual([1, true, true, false])
  changes.stop()
  expect(listeners.size).toBe(0)
  changes.listen()
  expect(listeners.size).toBe(0)
})

test('one who listens anew, and notes elsewhere', () => {
  const { changes, change, marks, listeners } = listening()
  changes.stop()
  changes.listenAnew()
  expect(listeners.size).toBe(1)
  const others = new Marks()
  changes.noteIn(others)
  change(1)
  expect([marks.count, others.count]).toEqual([0, 1])
})
