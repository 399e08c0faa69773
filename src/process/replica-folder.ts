/** Where the replica of a cluster is that the configuration names no folder for. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { EtcdSource, StoreOptions } from '../plugin.js'
import { isLocked } from '../store/lock.js'
import { StoreError } from '../store/store.js'
import { isPrivate } from './runtime-folder.js'

/** The folder of a store, as configured: absolute where it is named. */
export function folderOfStore({ folder, etcd }: Pick<StoreOptions, 'folder' | 'etcd'>): string {
  if (folder !== undefined) return folder
  if (etcd === undefined) throw new StoreError('a store that nothing feeds has to have a folder')
  return replicaFolder(etcd)
}

/** The folder of this process for the replica of a cluster's keys. */
function replicaFolder({ version, endpoints, path, credentials }: EtcdSource): string {
  const what = JSON.stringify([version, endpoints, path, credentials?.user])
  return join(above(), `${process.pid}-${createHash('sha256').update(what).digest('hex').slice(0, 24)}`)
}

/** The folder that a server that runs has for the same replica as this process would have in the given one; undefined where none does. */
export async function runningReplica(folder: string): Promise<string | undefined> {
  const what = basename(folder).slice(`${process.pid}`.length)
  if (!isPrivate(above(), process.getuid?.())) return undefined
  for (const name of readdirSync(above()).sort()) {
    const other = join(above(), name)
    if (name.endsWith(what) && (await isInUse(other))) return other
  }
  return undefined
}

/** Whether a folder is one of those. */
export function isReplicaFolder(folder: string): boolean {
  return folder.startsWith(join(above(), `${process.pid}-`))
}

let isGoing = false

/** Has the folders of this process go with it, also where it ends in the middle of its start. */
function goWithProcess(): void {
  if (isGoing) return
  isGoing = true
  process.once('exit', () => {
    if (!existsSync(above())) return
    for (const name of readdirSync(above())) if (isReplicaFolder(join(above(), name))) removeReplicaFolder(join(above(), name))
  })
}

/** Makes the folder that those of all processes of this user are in, and removes those of processes that have ended. Throws StoreError. */
export async function prepareReplicaFolders(): Promise<void> {
  const folder = above()
  try {
    mkdirSync(folder, { mode: 0o700, recursive: true })
    if (!isPrivate(folder, process.getuid?.()))
      throw new StoreError(
        `${folder} belongs to somebody else, or others can write to it: remove it, name a folder with \`store DIR\`, or set TMPDIR`
      )
    for (const name of readdirSync(folder)) {
      // Another container may have the same folder, and other numbers of processes.
      const other = join(folder, name)
      if (!isAlive(Number.parseInt(name, 10)) && !(await isInUse(other))) removeReplicaFolder(other)
    }
    goWithProcess()
  } catch (error) {
    if (error instanceof StoreError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new StoreError(
      `no folder for a replica can be made in ${tmpdir()} (${code ?? message}): name one with \`store DIR\`, or set TMPDIR`,
      {
        cause: error
      }
    )
  }
}

/** Removes such a folder, with what is in it. */
export function removeReplicaFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

function above(): string {
  return join(tmpdir(), `skein-replica-${process.getuid?.() ?? 'user'}`)
}

/** Whether a process has it; not one that is being removed. */
function isInUse(folder: string): Promise<boolean> {
  return isLocked(folder).catch(() => false)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
