/** Asks a server that follows etcd. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Answer, readAnswer, requestOctets } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { type Following, follow } from './etcd-scene.js'

/** The key of a name in skydns.test. */
export const key = (name: string): string => `/skydns/test/skydns/${name}`
/** A service with an address. */
export const host = (address: string, ttl?: number): string => JSON.stringify({ host: address, ...(ttl !== undefined && { ttl }) })

/** Runs a test with a server that follows; stops it after that. */
export async function following(
  lines: readonly string[],
  run: (following: Following) => Promise<void>,
  cwd?: string,
  threads = 1
): Promise<void> {
  const server = await follow({ lines, threads, ...(cwd !== undefined && { cwd }) })
  try {
    await run(server)
  } finally {
    await server.stop()
  }
}

/** Asks it over UDP. */
export async function ask({ port }: Following, question: string): Promise<Answer> {
  const client = await openClient('udp', { address: '127.0.0.1', port })
  try {
    return readAnswer(await client.ask(requestOctets(question, { id: Math.floor(Math.random() * 65536), edns: 1232 })))
  } finally {
    client.close()
  }
}

/** `NOERROR 192.0.2.1 192.0.2.2`. */
export async function said(server: Following, name: string): Promise<string> {
  const { rcode, answer } = await ask(server, `${name}.skydns.test A`)
  return [rcode, ...answer.map((record) => record.split(' ').at(-1)).sort()].join(' ')
}

/** Waits until it says so. */
export async function says(server: Following, name: string, expected: string, withinMs = 8000): Promise<void> {
  let last = ''
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(20)) {
    last = await said(server, name)
    if (last === expected) return
  }
  expect(`${last}\n${server.server.output()}`).toBe(expected)
}
