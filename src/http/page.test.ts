import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type HttpEnd, type HttpPage, type HttpReply, openHttp } from './page.js'
import { httpPlace } from './place.js'

const ends: HttpEnd[] = []
const told: string[] = []
afterEach(async () => {
  told.length = 0
  for (const end of ends.splice(0)) await end.close()
})

async function opened(read: HttpPage['read']): Promise<HttpEnd> {
  const end = await openHttp(httpPlace('127.0.0.1:0'), { paths: ['/page'], read, tell: (problem) => told.push(problem) })
  ends.push(end)
  return end
}

function ask({ value }: HttpEnd, path: string, method = 'GET'): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: value.address, port: value.port, path, method, agent: false }, (response) => {
      const { 'content-type': type = '', allow } = response.headers
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('end', () => resolve([response.statusCode ?? 0, text, type, ...(allow === undefined ? [] : [allow])]))
    })
    sent.once('error', reject).end()
  })
}

const PLAIN = 'text/plain; charset=utf-8'

describe('a page is', () => {
  test.each<[title: string, read: HttpPage['read'], answered: unknown[], told: string[]]>([
    ['what is said', () => ({ text: 'hello' }), [200, 'hello', PLAIN], []],
    ['what is said later', async () => ({ text: 'hello' }), [200, 'hello', PLAIN], []],
    ['of a status and type', () => ({ status: 503, type: 'text/x', text: 'no' }), [503, 'no', 'text/x'], []],
    [
      'a fault where reading it throws',
      () => {
        throw new Error('boom')
      },
      [500, 'this cannot be read, see the log\n', PLAIN],
      ['/page cannot be read: boom']
    ],
    [
      'a fault where reading it fails later',
      () => Promise.reject(new Error('boom')),
      [500, 'this cannot be read, see the log\n', PLAIN],
      ['/page cannot be read: boom']
    ]
  ])('%s', async (_title, read, answered, lines) => {
    expect(await ask(await opened(read), '/page')).toEqual(answered)
    expect(told).toEqual(lines)
  })

  test.each<[method: string, path: string, answered: unknown[]]>([
    ['GET', '/page?x=/other', [200, 'hello', PLAIN]],
    ['HEAD', '/page', [200, '', PLAIN]],
    ['POST', '/page', [405, 'read with GET\n', PLAIN, 'GET, HEAD']],
    ['GET', '/', [404, 'there is /page alone\n', PLAIN]],
    ['GET', '/page/', [404, 'there is /page alone\n', PLAIN]],
    ['GET', '/Page', [404, 'there is /page alone\n', PLAIN]]
  ])('by %s at %s', async (method, path, answered) => {
    expect(await ask(await opened(() => ({ text: 'hello' })), path, method)).toEqual(answered)
  })
})

test('it is at each of its paths, as they are at the time', async () => {
  const paths = new Set(['/a', '/b'])
  const end = await openHttp(httpPlace('127.0.0.1:0'), { paths, read: () => ({ text: 'hello' }), tell() {} })
  ends.push(end)
  const told = async (): Promise<unknown[]> => Promise.all(['/a', '/b', '/c'].map(async (path) => (await ask(end, path))[1]))
  expect(await told()).toEqual(['hello', 'hello', 'there is /a and /b alone\n'])
  paths.delete('/a')
  paths.add('/c')
  expect(await told()).toEqual(['there is /b and /c alone\n', 'hello', 'hello'])
})

describe('closing ends', () => {
  async function connected({ value }: HttpEnd, text: string): Promise<Socket> {
    const socket = connect(value.port, value.address)
    await once(socket, 'connect')
    socket.on('error', () => {})
    if (text !== '') socket.write(text)
    return socket
  }

  test.each<[title: string, text: string, within: number]>([
    ['a client that says nothing, at once', '', 200],
    ['one that is amid its question, at once', 'GET /page HTTP/1.1\r\nHost:', 200],
    ['one whose answer does not come, after a quarter of a second', 'GET /page HTTP/1.1\r\nHost: x\r\n\r\n', 600]
  ])('%s', async (_title, text, within) => {
    let asked = (): void => {}
    const isAsked = new Promise<void>((resolve) => (asked = resolve))
    const end = await opened(() => {
      asked()
      return new Promise<HttpReply>(() => {})
    })
    const socket = await connected(end, text)
    if (text.endsWith('\r\n\r\n')) await isAsked
    else await new Promise((resolve) => setTimeout(resolve, 50))
    const closed = once(socket, 'close')
    const begun = performance.now()
    await ends.pop()!.close()
    expect(performance.now() - begun).toBeLessThan(within)
    await closed
  })

  test('one whose answer comes, with it', async () => {
    const end = await opened(() => new Promise((resolve) => setTimeout(() => resolve({ text: 'late' }), 100)))
    const answered = ask(end, '/page')
    await new Promise((resolve) => setTimeout(resolve, 50))
    await ends.pop()!.close()
    expect(await answered).toEqual([200, 'late', PLAIN])
  })
})

test('one that has asked and stays connected can ask again', async () => {
  const { value } = await opened(() => ({ text: 'hello' }))
  const socket = connect(value.port, value.address)
  let got = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (got += chunk))
  for (const times of [1, 2]) {
    socket.write('GET /page HTTP/1.1\r\nHost: x\r\n\r\n')
    while (got.split('hello').length <= times) await once(socket, 'data')
  }
  socket.destroy()
})

describe('where it cannot listen the reason is in words', () => {
  test('a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const page = { paths: ['/page'], read: () => ({ text: '' }), tell() {} }
    await expect(openHttp(httpPlace(`127.0.0.1:${port}`), page)).rejects.toThrow(/^the port is in use$/)
    taken.close()
  })

  test('an address of another machine', async () => {
    const page = { paths: ['/page'], read: () => ({ text: '' }), tell() {} }
    await expect(openHttp(httpPlace('192.0.2.1:8080'), page)).rejects.toThrow(/^this machine has no such address$/)
  })
})
