import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { askServer } from './control-client.js'
import { type Surroundings, socketName } from './runtime-folder.js'

let folder: string
let file: string
let around: Surroundings
let server: Server | undefined
const sockets = new Set<Socket>()

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skein-client-'))
  file = join(folder, 'Corefile')
  around = { uid: process.getuid!(), session: folder, run: join(folder, 'run'), temporary: folder }
  mkdirSync(join(folder, 'skein'), { mode: 0o700 })
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
  server = undefined
  rmSync(folder, { recursive: true, force: true })
})

/** Something listens where the server should, and does this with who connects and asks. */
async function listening(does: (socket: Socket) => void): Promise<void> {
  server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    // Who only looks whether somebody listens asks nothing.
    socket.once('data', () => does(socket))
  })
  await new Promise<void>((resolve) => server!.listen(join(folder, 'skein', socketName(file)), resolve))
}

const http = (status: string, body: string, length = body.length): string =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${length}\r\n\r\n${body}`

const NO_ANSWER = (status: number): string => `the server does not answer: what it says with status ${status} is no answer of this version`
const LATE = 'the server does not answer: it has not answered within 0.2 s, its log may say why'

describe('what is no answer is one line', () => {
  test.each<[title: string, does: (socket: Socket) => void, message: string | RegExp]>([
    ['nothing at all', () => {}, LATE],
    ['an end without a word', (socket) => socket.end(), /^the server does not answer: socket hang up$/],
    ['another protocol', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'), /^the server does not answer: Parse Error: .*$/],
    ['half a header', (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-'), LATE],
    ['half a body, then nothing', (socket) => socket.write(http('200 OK', '{"old":', 100)), LATE],
    ['half a body, then the end', (socket) => socket.end(http('200 OK', '{"old":', 100)), /^the server does not answer: aborted$/],
    [
      'a body that never ends',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const timer = setInterval(() => socket.write(' '), 20)
        socket.once('close', () => clearInterval(timer))
      },
      LATE
    ],
    ['a page', (socket) => socket.end(http('200 OK', '<html>')), NO_ANSWER(200)],
    ['no octets', (socket) => socket.end(http('200 OK', '')), NO_ANSWER(200)],
    ['null', (socket) => socket.end(http('200 OK', 'null')), NO_ANSWER(200)],
    ['a number', (socket) => socket.end(http('200 OK', '5')), NO_ANSWER(200)],
    ['a failure without a word', (socket) => socket.end(http('500 Oops', '{}')), NO_ANSWER(500)],
    ['a failure that is a page', (socket) => socket.end(http('431 Too Large', '')), NO_ANSWER(431)]
  ])('%s', async (_title, does, message) => {
    await listening(does)
    const error: Error = await askServer('GET', '/server', { file, around, longestMs: 200 }).then(
      () => new Error('it was an answer'),
      (thrown: Error) => thrown
    )
    expect(error).toMatchObject({ name: 'ControlError', message: typeof message === 'string' ? message : expect.stringMatching(message) })
  })

  test('an answer is one', async () => {
    await listening((socket) => socket.end(http('409 Conflict', '{"error":"no"}')))
    expect(await askServer('GET', '/server', { file, around })).toEqual({ status: 409, body: { error: 'no' } })
  })

  test('a file or a folder in the socket’s place is no server', async () => {
    const path = join(folder, 'skein', socketName(file))
    writeFileSync(path, '')
    await expect(askServer('GET', '/server', { file, around })).rejects.toThrow(/^no server runs with /)
    rmSync(path)
    mkdirSync(path)
    await expect(askServer('GET', '/server', { file, around })).rejects.toThrow(/^no server runs with /)
  })
})
