import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { checkFile, prepareFolder, STORE_FILE } from '../folder.js'
import { StoreError } from '../store.js'
import { makeStore, openTable, openTables, readRevision, type Table, type Tables, writeMark } from '../tables.js'
import { openOdd } from './odd-paths.js'

/** The tables of a replica. */
export interface ReplicaTables extends Tables {
  /** What the life of an entry hangs on, as text, by the entry's key; nothing of those that stay. */
  readonly lives: Table
  /** See `odd-paths.ts`. */
  readonly odd: Table
}

/** Opens the replica in a folder whose lock the process holds, or makes it. Throws StoreError where something else is there. */
export async function openReplicaTables(folder: string): Promise<ReplicaTables> {
  prepareFolder(folder)
  checkFile(folder)
  if (!existsSync(join(folder, STORE_FILE))) await makeStore(folder)
  const tables = await openTables(folder)
  if (tables.kind === 'embedded') {
    // What was written here would be lost with the first list.
    if (readRevision(tables) > 0) {
      await tables.root.close()
      throw new StoreError(`the store ${folder} holds keys that were written to it: give the replica of etcd a folder of its own`)
    }
    await writeMark(tables, 'replica')
  }
  return { ...tables, lives: openTable(tables, 'lives'), odd: openOdd(tables) }
}
