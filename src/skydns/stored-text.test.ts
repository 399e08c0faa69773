import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSilent, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lockFolder } from '../store/lock.js'
import { storeAlone } from './corefile.js'
import { givenBy, readFlags } from './given.js'
import { settle } from './settings.js'
import { storedText } from './stored-text.js'

/** By which etcd is known. */
const OF_ETCD = new Map([
  ['x-etcd-cluster-id', '1'],
  ['x-etcd-index', '1']
])
const VALUE = '{"ttl":60}'
/** What etcd answers by its API of version 2. */
const FOUND = JSON.stringify({ action: 'get', node: { key: '/skydns/config', value: VALUE } })
const NOTHING = JSON.stringify({ errorCode: 100, message: 'Key not found', cause: '/skydns', index: 1 })

/** A member of a cluster: its URL. */
async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** One that takes connections, and says nothing. */
async function silent(): Promise<{ readonly url: string; readonly asked: Promise<unknown>; readonly open: ReadonlySet<Socket> }> {
  const open = new Set<Socket>()
  const server = createSilent((socket) => {
    open.add(socket.resume())
    socket.on('close', () => open.delete(socket)).on('error', () => {})
  })
  return { url: await listening(server), asked: once(server, 'connection'), open }
}

function read(...members: string[]): ReturnType<typeof storedText> {
  return readBy(`-machines=${members.join()}`)
}

function readBy(flag: string): ReturnType<typeof storedText> {
  const given = givenBy(readFlags([flag]).flags, {}, () => {})
  return storedText(storeAlone(settle(given, new Map())), '/skydns/config')
}

test('a member that does not answer holds up nobody, and is left alone then', async () => {
  const first = await silent()
  const open: number[] = []
  const second = createServer((request, response) => {
    // Asked while the first one is: it is not waited for.
    void first.asked.then(() => {
      open.push(first.open.size)
      response.setHeaders(OF_ETCD).end(request.url?.startsWith('/v2/keys/skydns/config') ? FOUND : '{}')
    })
  })
  expect(await read(first.url, await listening(second))).toEqual({ text: VALUE })
  expect(open).toEqual([1])
  await expect.poll(() => first.open.size).toBe(0)
})

test('where no member can be reached it is told of each', async () => {
  const away = ['http://127.0.0.1:1', 'http://127.0.0.1:2']
  expect(await read(...away)).toEqual({ failed: away.map((url) => `${url}: connection refused`).join('; ') })
})

test('no key is no failure', async () => {
  const server = createServer((_request, response) => void response.setHeaders(OF_ETCD).writeHead(404).end(NOTHING))
  expect(await read(await listening(server))).toEqual({ absent: true })
})

test('a server that ends amid its answer is told, and not waited for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-stored-'))
  const lock = await lockFolder(folder)
  onTestFinished(async () => {
    await lock.release()
    rmSync(folder, { recursive: true })
  })
  lock.server.on('connection', (socket) =>
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{', () => socket.destroy()))
  )
  expect(await readBy(`-embedded=${folder}`)).toEqual({ failed: expect.stringMatching(`^the server of ${folder} does not answer: `) })
})
