/** A store with the services of the bench. */
import { BelowCounts } from '../src/store/below.js'
import { prepareFolder } from '../src/store/folder.js'
import { type Key, spelledOctets } from '../src/store/key.js'
import { writeStored } from '../src/store/record.js'
import { makeStore, openTables, type Table, writeRevision } from '../src/store/tables.js'
import { serviceEntries } from './services.js'

const PER_COMMIT = 50_000
const REVISION = 1
const EMPTY = Buffer.alloc(0)

/**
 * Makes the embedded store of a folder with the first `count` services, and the pools. It writes the tables as one commit of the store
 * would (a test compares them), but looks nothing up before: a million take seconds.
 */
export async function fillStore(folder: string, count: number): Promise<void> {
  prepareFolder(folder)
  await makeStore(folder)
  const tables = await openTables(folder)
  const put = (table: Table, key: Key, value: Buffer): void => {
    table.putSync(spelledOctets(key), writeStored({ created: REVISION, modified: REVISION, expires: undefined, value }))
  }
  const marked = new Set<string>()
  const markAbove = (key: Key): void => {
    const above = key.slice(0, -1)
    const path = above.join('/')
    if (above.length === 0 || marked.has(path)) return
    marked.add(path)
    put(tables.dirs, above, EMPTY)
    markAbove(above)
  }
  const counts = new BelowCounts(tables)
  const all = serviceEntries(count)
  for (let isLast = false; !isLast; ) {
    tables.root.transactionSync(() => {
      for (let i = 0; i < PER_COMMIT && !isLast; i++) {
        const { value, done } = all.next()
        isLast = done === true
        if (value === undefined) break
        markAbove(value.key)
        counts.change(spelledOctets(value.key), 1)
        put(tables.entries, value.key, Buffer.from(value.value))
      }
      writeRevision(tables, REVISION)
    })
  }
  await tables.root.batch(() => counts.write())
  await tables.root.close()
}
