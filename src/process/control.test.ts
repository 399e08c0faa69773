import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EmbeddedStore } from '../store/embedded.js'
import { keyOfPath } from '../store/key.js'
import { type Control, serveControl } from './control.js'

let folder: string
let store: EmbeddedStore
let control: Control

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-control-'))
  store = await EmbeddedStore.open(join(folder, 'store'))
  control = serveControl(store)
})

afterEach(async () => {
  await control.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Calls a verb; gives status and body. With `leaveAfter` the caller goes away after so many octets. */
function call(
  verb: string,
  body = '',
  leaveAfter = Number.POSITIVE_INFINITY,
  asked: object = {}
): Promise<{ status: number; text: string }> {
  const path = `/kv/${verb}?arguments=${encodeURIComponent(JSON.stringify(asked))}`
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: store.lock.path, method: 'POST', path }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (text.length > leaveAfter) response.destroy()
      })
      response.on('error', () => {})
      response.on('close', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('the control socket', () => {
  test('ends an export whose reader goes away, so that any number of them leaves the store usable', async () => {
    const value = Buffer.from('x'.repeat(500))
    await store.apply(Array.from({ length: 3000 }, (_, i) => ({ op: 'put', key: keyOfPath(`/a/${i}`), value }) as const))
    for (let i = 0; i < 150; i++) {
      await call('export', '', 1000)
      if (i % 25 === 0) await store.apply([{ op: 'put', key: keyOfPath('/b'), value: Buffer.from(String(i)) }])
    }
    await store.apply([{ op: 'put', key: keyOfPath('/b'), value: Buffer.from('last') }])
    expect(store.at(keyOfPath('/b'))[0]!.value.toString()).toBe('last')
    expect((await call('export')).text.split('\n')).toHaveLength(3002)
  })

  test('takes values of any octets and of up to 1 MiB', async () => {
    const value = 'y'.repeat(1 << 20)
    expect(await call('put', value, undefined, { key: '/big' })).toEqual({ status: 200, text: '' })
    expect((await call('get', '', undefined, { key: '/big', raw: true })).text).toBe(value)
    const more = await call('put', `${value}z`, undefined, { key: '/big' })
    expect([more.status, more.text]).toEqual([400, expect.stringContaining('1048576 is the limit')])
  })

  test('takes a key as it shows it, whatever octets it has', async () => {
    await store.apply([{ op: 'put', key: ['a/b', '\\047', '\n'], value: Buffer.from('v') }])
    const [path] = (await call('ls', '', undefined, { recursive: true })).text.split('\n')
    expect(path).toBe('/a\\047b/\\092047/\\010')
    expect((await call('get', '', undefined, { key: path })).text).toBe('v\n')
  })

  test('says what is no command, and what is no key', async () => {
    expect(await call('frobnicate')).toEqual({ status: 400, text: 'no such command: POST /kv/frobnicate' })
    expect(await call('get', '', undefined, { key: '/nothere' })).toEqual({ status: 400, text: 'there is no key /nothere' })
  })
})
