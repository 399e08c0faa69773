import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type {} from 'vitest'

/** The programs outside this repository that tests ask; test/install-tools.mjs knows the package of each. */
export const toolNames = [
  'dig',
  'delv',
  'unbound',
  'nsd',
  'knotd',
  'etcd',
  'etcdctl',
  'dnsperf',
  'ip',
  'unshare',
  'nsenter',
  'curl',
  'strace',
  'python3',
  'openssl',
  'dnssec-keygen',
  'dnssec-dsfromkey',
  'dnssec-signzone',
  'dnssec-verify',
  'drill',
  'ldns-keygen',
  'faketime',
  'systemd-socket-activate'
] as const

/** One of the programs that tests ask. */
export type ToolName = (typeof toolNames)[number]

declare module 'vitest' {
  interface TaskMeta {
    /** The tools for want of which a test is skipped; read by test/tally.mjs. */
    lacking?: string[]
  }
}

const found = new Map<ToolName, string | undefined>()

/** Whether the program is on this machine. */
export function hasTool(name: ToolName): boolean {
  return locate(name) !== undefined
}

/** The program's absolute path; throws where it is missing. */
export function tool(name: ToolName): string {
  const path = locate(name)
  if (path === undefined) throw new Error(`${name} is not installed: run node test/install-tools.mjs as root`)
  return path
}

/** Options of a test or suite that asks these programs: skipped, and counted as such, where one is missing. */
export function needs(...names: ToolName[]): { skip: boolean; meta: { lacking: string[] } } {
  const lacking = names.filter((name) => !hasTool(name))
  return { skip: lacking.length > 0, meta: { lacking } }
}

function locate(name: ToolName): string | undefined {
  if (!found.has(name)) found.set(name, findProgram(name))
  return found.get(name)
}

/** Where a program is on this machine; undefined where it is not. Servers stand in sbin, which is not in every user's PATH. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin']
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
