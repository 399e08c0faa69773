/** The object is read also where members of etcd, and the server of a folder, do not behave. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { lockFolder } from '../store/lock.js'
import { storeAlone } from './corefile.js'
import { givenBy, readFlags } from './given.js'
import { settle } from './settings.js'
import { type StoredText, storedText } from './stored-text.js'

const PATH = '/skydns/config'
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function read(...flags: string[]): Promise<StoredText> {
  return storedText(
    storeAlone(
      settle(
        givenBy(readFlags(flags).flags, {}, () => {}),
        new Map()
      )
    ),
    PATH
  )
}

async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const silent = (): Promise<string> => listening(createServer())

function etcd(value: string): Promise<string> {
  const body = JSON.stringify({ action: 'get', node: { key: PATH, value, createdIndex: 1, modifiedIndex: 1 } })
  return listening(
    createHttp((_, response) => response.writeHead(200, { 'X-Etcd-Cluster-Id': 'a', 'X-Etcd-Index': '1' }).end(body)) as unknown as Server
  )
}

test('members that are silent do not keep the one that answers from being asked', async () => {
  const members = [await silent(), await silent(), await silent(), await etcd('{"ttl":5}')]
  expect(await read(`-machines=${members.join()}`)).toEqual({ text: '{"ttl":5}' })
})

test('where none answers, each is named with why', async () => {
  const [one, other] = [await silent(), await silent()]
  expect(await read(`-machines=${one},${other}`)).toEqual({
    failed: `${one}: no answer within 2000 ms; ${other}: no answer within 2000 ms`
  })
})

test('a server that ends amid its answer is told, and not waited for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-stored-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  const lock = await lockFolder(folder)
  ends.push(() => lock.release())
  lock.server.on('connection', (socket) =>
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{', () => socket.destroy()))
  )
  expect(await read(`-embedded=${folder}`)).toEqual({ failed: `the server of ${folder} does not answer: aborted` })
})
