/** The `skein` command for tests that call it as operators do. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Running, runtimeFolder, startProcess } from './processes.js'

/** The command's file. */
export const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))

/** How a call of the command has ended, and what it printed. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Calls the command and waits for its end. */
export function skein(
  args: readonly string[],
  cwd: string,
  options: { input?: string; uid?: number; env?: Record<string, string>; timeout?: number } = {}
): Promise<Ended> {
  return new Promise((resolve) => {
    const { uid, input, env, timeout = 15_000 } = options
    const child = execFile(
      process.execPath,
      [MAIN, ...args],
      { cwd, timeout, env: { ...process.env, XDG_RUNTIME_DIR: runtimeFolder(), ...env }, ...(uid && { uid, gid: uid }) },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 99, out, err })
      }
    )
    child.stdin!.end(input ?? '')
  })
}

/** Calls `skein kv`, which may take long; gives its output, errors behind it, and a code that is not 0, one character an octet. */
export function kv(cwd: string, args: readonly string[], input: string | Buffer = '', env: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: 15_000, encoding: 'latin1', env: { ...process.env, ...env } } as const
    const child = execFile(process.execPath, [MAIN, 'kv', ...args], options, (error, out, err) => {
      resolve(`${out}${err}${error === null ? '' : `exit ${error.code}`}`)
    })
    child.stdin!.on('error', () => {})
    child.stdin!.end(input)
  })
}

/** A server block on loopback, its zone's port free, with these lines. */
export function block(...lines: string[]): string {
  return ['.:0 {', '  bind 127.0.0.1', ...lines.map((line) => `  ${line}`), '}', ''].join('\n')
}

/** The same with an `etcd` that has these options. */
export function etcd(...options: string[]): string {
  return block('etcd skydns.test {', ...options.map((option) => `  ${option}`), '}')
}

/** Starts the server, and waits until it says that it runs. */
export function start(cwd: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<Running> {
  return startProcess(process.execPath, [MAIN, 'run', ...args], { cwd, env, ready: /Skein-\d/ })
}
