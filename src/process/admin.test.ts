import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { KeysGuard } from '../store/keys-guard.js'
import { type AdminCall, adminHandler } from './admin.js'

const servers: Server[] = []
const told: string[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  told.splice(0)
})

const CALLS: readonly AdminCall[] = [
  {
    method: 'GET',
    path: '/server',
    parameters: ['name', 'x'],
    answer: (given) => ({ body: { name: null, ...Object.fromEntries(given) } })
  },
  { method: 'POST', path: '/reload', answer: async () => ({ status: 409, body: { error: 'no' } }) },
  {
    method: 'GET',
    path: '/broken',
    answer() {
      throw new Error('boom')
    }
  }
]

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly guard?: KeysGuard
  readonly calls?: readonly AdminCall[]
}

/** Calls it; gives the status, what the JSON says, and the headers. */
async function ask({ method = 'GET', path = '/server', headers = {}, guard = {}, calls = CALLS }: Asked): Promise<unknown[]> {
  const handler = adminHandler(
    () => calls,
    () => guard,
    (problem) => told.push(problem)
  )
  const server = createServer(handler).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => {
        expect(response.headers['content-type']).toBe('application/json')
        resolve([response.statusCode, text === '' ? '' : JSON.parse(text), response.headers])
      })
    })
    sent.once('error', reject).end()
  })
}

describe('a call is answered with JSON', () => {
  test.each<[title: string, asked: Asked, status: number, body: unknown, headers?: object]>([
    ['as its row has it', { path: '/server?name=a%20b' }, 200, { name: 'a b' }],
    ['with the status of its row', { method: 'POST', path: '/reload' }, 409, { error: 'no' }],
    ['without it where the head is asked for', { method: 'HEAD' }, 200, ''],
    [
      '404 where it is none',
      { path: '/nothing' },
      404,
      { error: 'there is no such call, expected GET /server or POST /reload or GET /broken' }
    ],
    ['404 at a path that is none', { path: '//' }, 404, { error: expect.stringContaining('no such call') }],
    ['405 where the method is another', { path: '/reload' }, 405, { error: 'expected POST /reload' }, { allow: 'POST' }],
    ['405 with HEAD beside GET', { method: 'DELETE' }, 405, { error: 'expected GET /server' }, { allow: 'GET, HEAD' }],
    ['503 while the server is being started', { calls: [] }, 503, { error: 'the server is being started' }]
  ])('%s', async (_title, asked, status, body, headers = {}) => {
    const answered = await ask(asked)
    expect(answered.slice(0, 2)).toEqual([status, body])
    expect(answered[2]).toMatchObject(headers)
    expect(told).toEqual([])
  })

  test.each<[path: string, body: object]>([
    ['/server?name=a%20b%2B+%5C000%26=%3d', { name: 'a b+ \\000&==' }],
    ['/server?&x=&name=b%C3%BCcher&', { x: '', name: 'bücher' }],
    ['/server?name', { name: '' }]
  ])('the parameters of %s are read', async (path, body) => {
    expect((await ask({ path })).slice(0, 2)).toEqual([200, body])
  })

  test.each<[path: string, error: string, method?: string]>([
    ['/server?nam=a', 'GET /server: expected name, x alone, not "nam"'],
    ['/server?Name=a', 'GET /server: expected name, x alone, not "Name"'],
    ['/server?=a', 'GET /server: expected name, x alone, not ""'],
    ['/server?name=a&x=&name=b', 'GET /server: expected name once'],
    ['/server?name=a%zz', 'expected percent-encoded UTF-8, not "name=a%zz"'],
    ['/server?name=%ff', 'expected percent-encoded UTF-8, not "name=%ff"'],
    ['/server?%=a', 'expected percent-encoded UTF-8, not "%=a"'],
    ['/reload?dry=1', 'POST /reload: expected no parameter, not "dry"', 'POST'],
    [`/server?${'x'.repeat(61)}=1`, `GET /server: expected name, x alone, not "${'x'.repeat(60)}…"`]
  ])('the parameters of %s are refused', async (path, error, method = 'GET') => {
    expect((await ask({ path, method })).slice(0, 2)).toEqual([400, { error }])
  })

  test('500 where it fails, with a line for the log', async () => {
    expect((await ask({ path: '/broken' })).slice(0, 2)).toEqual([500, { error: 'this call failed, see the log' }])
    expect(told).toEqual(['GET /broken: Error: boom'])
  })
})

describe('who may not is refused', () => {
  const token = { token: 'hush-hush', allowedHosts: 'any' } as const

  test.each<[title: string, asked: Asked, status: number]>([
    ['this machine may', {}, 200],
    ['a page of another origin', { headers: { origin: 'http://example.org' } }, 403],
    ['a page of another site', { headers: { 'sec-fetch-site': 'cross-site' } }, 403],
    ['a name that leads here', { headers: { host: 'example.org' } }, 403],
    ['nobody without the token', { guard: token }, 401],
    ['with another token', { guard: token, headers: { authorization: 'Bearer hush-hush-hush' } }, 401],
    ['who has the token may', { guard: token, headers: { authorization: 'Bearer hush-hush', host: 'ns.example.org' } }, 200],
    ['a foreign page with the token', { guard: token, headers: { authorization: 'Bearer hush-hush', origin: 'http://x' } }, 403]
  ])('%s', async (_title, asked, status) => {
    const [got, body, headers] = await ask(asked)
    expect(got).toBe(status)
    expect(body).toEqual(status === 200 ? { name: null } : { error: expect.any(String) })
    expect((headers as Record<string, unknown>)['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined)
  })
})
