import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** How to start a process, and how to see that it is ready. */
export interface StartOptions {
  /** Ready when its output matches, or when the predicate says so; ready at once where it is left out. */
  ready?: RegExp | (() => boolean | Promise<boolean>)
  readyWithinMs?: number
  cwd?: string
  /** Added to this process's own environment. */
  env?: Record<string, string>
}

/** A process that was started. */
export interface Running {
  readonly pid: number
  /** All that it has printed so far, standard output and errors together, in the order of arrival. */
  output(): string
  /** Its exit code once it has ended, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** Waits for output that matches; rejects if the process ends first or takes too long. */
  prints(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>
  /** Sends SIGTERM, after the grace SIGKILL, and waits for the end. */
  stop(graceMs?: number): Promise<number | NodeJS.Signals>
}

const children = new Set<ChildProcess>()
const folders = new Set<string>()

// What a test forgot, or could not do because it failed, must not outlive the run, which ends its processes with a signal.
process.on('exit', clean)
process.once('SIGTERM', () => {
  clean()
  process.kill(process.pid, 'SIGTERM')
})

function clean(): void {
  for (const child of children) child.kill('SIGKILL')
  for (const path of folders) rmSync(path, { recursive: true, force: true })
}

/** Starts a program and waits until it is ready; the error of one that fails to holds what it printed. */
export async function startProcess(command: string, args: readonly string[], options: StartOptions = {}): Promise<Running> {
  const { cwd, env, ready, readyWithinMs = 10_000 } = options
  const running = launch(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, XDG_RUNTIME_DIR: runtimeFolder(), ...env }
  })
  try {
    if (ready instanceof RegExp) await running.prints(ready, readyWithinMs)
    else if (ready !== undefined) await until(ready, running, `${command} is ready`, readyWithinMs)
  } catch (error) {
    await running.stop(0)
    throw error
  }
  return running
}

let runtime: string | undefined

/** Where servers have their control sockets: none in the machine's own folders. */
export function runtimeFolder(): string {
  runtime ??= temporaryFolder().path
  return runtime
}

function launch(command: string, args: readonly string[], options: { cwd?: string; env: NodeJS.ProcessEnv }): Running {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => {
      children.delete(child)
      resolve(code ?? signal ?? 1)
    })
    // A program that cannot be started closes too, with no word of the reason.
    child.once('error', (error) => (text += `${error.message}\n`))
  })
  const running: Running = {
    pid: child.pid ?? 0,
    output: () => text,
    ended,
    async prints(pattern, withinMs = 10_000) {
      const search = () => new RegExp(pattern.source, pattern.flags.replace('g', '')).exec(text)
      await until(() => search() !== null, running, `${command} prints ${pattern}`, withinMs)
      return search()!
    },
    async stop(graceMs = 3_000) {
      child.kill(graceMs > 0 ? 'SIGTERM' : 'SIGKILL')
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
      const how = await ended
      clearTimeout(timer)
      return how
    }
  }
  return running
}

async function until(isSo: () => boolean | Promise<boolean>, running: Running, what: string, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs
  let end: number | NodeJS.Signals | undefined
  void running.ended.then((how) => (end = how))
  while (!(await isSo())) {
    if (end !== undefined) throw new Error(`expected that ${what}, but it ended with ${end} and printed:\n${running.output()}`)
    if (Date.now() > deadline) throw new Error(`expected within ${withinMs} ms that ${what}; it printed:\n${running.output()}`)
    await sleep(15)
  }
}

const handedOut = new Set<number>()

/**
 * A port that is free for UDP and TCP on the address. It lies below the range from which the kernel takes ports for outgoing
 * sockets, so that none of those takes it before the server under test does.
 */
export async function freePort(address = '127.0.0.1'): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    if (handedOut.has(port)) continue
    if ((await isFreeForTcp(port, address)) && (await isFreeForUdp(port, address))) {
      handedOut.add(port)
      return port
    }
  }
  throw new Error(`no port is free on ${address}`)
}

function isFreeForTcp(port: number, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, address, () => server.close(() => resolve(true)))
  })
}

function isFreeForUdp(port: number, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    socket.once('error', () => socket.close(() => resolve(false)))
    socket.bind(port, address, () => socket.close(() => resolve(true)))
  })
}

/** Whether somebody takes connections on a port of 127.0.0.1. */
export function isReached(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(() => resolve(true)))
    socket.on('error', () => resolve(false))
  })
}

/** A new folder; it goes with `remove`, or else when this process ends. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'skein-test-'))
  folders.add(path)
  return {
    path,
    remove() {
      rmSync(path, { recursive: true, force: true })
      folders.delete(path)
    }
  }
}
