/** Keys, tags, DS records and signatures, compared with what BIND and ldns make of them. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../test/processes.js'
import { needs, type ToolName, tool } from '../../test/tools.js'
import { nameOctets } from '../message/name.js'
import { generateKeyPair, keyPairNames, readKeyPair } from './key-file.js'
import type { ZoneKey } from './zone-key.js'

const folder = temporaryFolder()
afterAll(() => folder.remove())
let folders = 0

function newFolder(): string {
  const path = join(folder.path, String(folders++))
  mkdirSync(path)
  return path
}

async function ask(name: ToolName, args: string[], cwd: string): Promise<string> {
  return (await promisify(execFile)(tool(name), args, { cwd })).stdout.trim()
}

function read(cwd: string, base: string): ZoneKey {
  return readKeyPair(base, readFileSync(join(cwd, `${base}.key`), 'latin1'), readFileSync(join(cwd, `${base}.private`), 'latin1'))
}

/** The rdata as dnssec-dsfromkey prints it. */
function shownDs(ds: Uint8Array): string {
  const [a = 0, b = 0, algorithm, digest, ...octets] = ds
  return `${(a << 8) | b} ${algorithm} ${digest} ${Buffer.from(octets).toString('hex').toUpperCase()}`
}

async function expectDs(key: ZoneKey, base: string, cwd: string): Promise<void> {
  for (const [type, digest] of [
    [2, 'SHA-256'],
    [4, 'SHA-384']
  ] as const) {
    const printed = await ask('dnssec-dsfromkey', ['-a', digest, base], cwd)
    expect(printed.replace(/^.* IN DS /, '')).toBe(shownDs(key.ds(type)))
  }
}

/** A zone that has nothing but its apex, signed by the key, as a master file. */
async function signedZone(key: ZoneKey): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const owner = nameOctets(key.zone)
  const text = Buffer.from(key.rdata.subarray(4)).toString('base64')
  const host = nameOctets('ns.elsewhere.test')
  // NS, SOA, RRSIG, NSEC, DNSKEY
  const bitmap = Buffer.of(0, 7, 0x22, 0, 0, 0, 0, 0x03, 0x80)
  const sets: [string, number, Buffer, string][] = [
    ['SOA', 6, Buffer.concat([host, host, words(1, 2, 3, 4, 5)]), 'ns.elsewhere.test. ns.elsewhere.test. 1 2 3 4 5'],
    ['NS', 2, Buffer.from(host), 'ns.elsewhere.test.'],
    ['DNSKEY', 48, Buffer.from(key.rdata), `${key.flags} 3 ${key.algorithm} ${text}`],
    ['NSEC', 47, Buffer.concat([owner, bitmap]), `${key.zone} NS SOA RRSIG NSEC DNSKEY`]
  ]
  const lines: string[] = []
  for (const [name, type, rdata, shown] of sets) {
    const times = [now + 9999, now - 9999]
    const head = Buffer.concat([Buffer.of(0, type, key.algorithm, 2), words(300, ...times), Buffer.of(key.tag >> 8, key.tag & 255), owner])
    const set = Buffer.concat([owner, Buffer.of(0, type, 0, 1), words(300), Buffer.of(rdata.length >> 8, rdata.length & 255), rdata])
    const signature = Buffer.from(await key.sign(Buffer.concat([head, set]))).toString('base64')
    lines.push(`${key.zone} 300 IN ${name} ${shown}`)
    lines.push(`${key.zone} 300 IN RRSIG ${name} ${key.algorithm} 2 300 ${times.join(' ')} ${key.tag} ${key.zone} ${signature}`)
  }
  return `${lines.join('\n')}\n`
}

function words(...values: number[]): Buffer {
  return Buffer.concat(values.map((value) => Buffer.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255)))
}

const algorithms: [string, number][] = [
  ['RSASHA1', 5],
  ['NSEC3RSASHA1', 7],
  ['RSASHA256', 8],
  ['RSASHA512', 10],
  ['ECDSAP256SHA256', 13],
  ['ECDSAP384SHA384', 14],
  ['ED25519', 15]
]

describe.each(algorithms)(
  'with BIND and %s',
  needs('dnssec-keygen', 'dnssec-dsfromkey', 'dnssec-signzone', 'dnssec-verify'),
  (mnemonic, number) => {
    test('a key of dnssec-keygen is read, with its tag and DS, and signs what dnssec-verify accepts', { timeout: 30_000 }, async () => {
      const cwd = newFolder()
      const base = await ask(
        'dnssec-keygen',
        ['-q', '-a', mnemonic, ...(number < 13 ? ['-b', '2048'] : []), '-f', 'KSK', 'Example.org'],
        cwd
      )
      const key = read(cwd, base)
      expect([key.name, key.mnemonic, key.algorithm, key.flags, key.isSep]).toEqual([base, mnemonic, number, 257, true])
      expect(key.isWeak).toBe(number < 8)
      await expectDs(key, base, cwd)
      const zone = await signedZone(key)
      writeFileSync(join(cwd, 'zone'), zone)
      const judged = ask('dnssec-verify', ['-z', '-o', 'example.org', 'zone'], cwd)
      await expect(judged).resolves.toMatch(/fully signed/)
      writeFileSync(join(cwd, 'zone'), zone.replace(' 1 2 3 4 5', ' 2 2 3 4 5'))
      await expect(ask('dnssec-verify', ['-z', '-o', 'example.org', 'zone'], cwd)).rejects.toThrow()
    })
  }
)

describe('a key that was made here', needs('dnssec-dsfromkey', 'dnssec-signzone', 'dnssec-verify'), () => {
  test.each(algorithms.slice(2))('signs for dnssec-signzone with %s', { timeout: 30_000 }, async (mnemonic) => {
    const cwd = newFolder()
    const { name, publicText, privateText, key } = await generateKeyPair('example.org', mnemonic)
    writeFileSync(join(cwd, `${name}.key`), publicText)
    writeFileSync(join(cwd, `${name}.private`), privateText)
    await expectDs(key, name, cwd)
    writeFileSync(join(cwd, 'zone'), `$TTL 300\n@ SOA ns ns 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n$INCLUDE ${name}.key\n`)
    await ask('dnssec-signzone', ['-a', '-z', '-o', 'example.org', 'zone', name], cwd)
    expect(await ask('dnssec-verify', ['-z', '-o', 'example.org', 'zone.signed'], cwd)).toMatch(/fully signed/)
  })
})

describe('names of files', needs('dnssec-keygen', 'dnssec-dsfromkey'), () => {
  test.each(['.', 'x', 'a/B\\046c d\\200.example', '*._x.exa+mple', 'A@\\$"\\(\\)\\;\\\\%.example', `${'1'.repeat(63)}.${'2'.repeat(63)}`])(
    'are those of BIND for %s',
    async (zone) => {
      const cwd = newFolder()
      const base = await ask('dnssec-keygen', ['-q', '-a', '13', zone], cwd)
      const [found = ''] = keyPairNames(readdirSync(cwd), zone)
      expect(found).toBe(base)
      const key = read(cwd, found)
      expect([key.name, key.flags]).toEqual([base, 256])
      await expectDs(key, base, cwd)
      const made = await generateKeyPair(zone)
      writeFileSync(join(cwd, `${made.name}.key`), made.publicText)
      await expectDs(made.key, made.name, cwd)
    }
  )
})

describe('with ldns', needs('ldns-keygen'), () => {
  test.each([
    ['RSASHA256', ['-b', '2048']],
    ['ECDSAP256SHA256', []],
    ['ECDSAP384SHA384', []],
    ['ED25519', []]
  ])('a key of %s is read', async (mnemonic, args) => {
    const cwd = newFolder()
    const base = await ask('ldns-keygen', ['-k', '-a', mnemonic, ...args, 'Example.org'], cwd)
    expect(keyPairNames(readdirSync(cwd), 'example.org')).toEqual([base])
    const key = read(cwd, base)
    const ds = readFileSync(join(cwd, `${base}.ds`), 'latin1')
      .trim()
      .split('\t')
      .at(-1)!
    expect(shownDs(key.ds(ds.includes(' 4 ') ? 4 : 2)).toLowerCase()).toBe(ds)
  })
})
