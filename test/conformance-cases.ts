/** The SkyDNS conformance cases, and how an answer is compared with one. How a case reads stands in test/conformance/README.md. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Answer } from 'skein/testing'
import { textOf } from './skydns-like.js'

/** One file: services, and questions with their right answers. */
export interface CaseFile {
  readonly path: string
  readonly title: string
  readonly config: Readonly<Record<string, string | number | boolean>>
  readonly services: Readonly<Record<string, unknown>>
  readonly cases: readonly Case[]
}

export interface Case {
  readonly ask: string
  readonly rcode: string
  readonly flags: string
  readonly answer?: readonly string[]
  readonly authority?: readonly string[]
  readonly additional?: readonly string[]
}

const folder = new URL('../../test/conformance/', import.meta.url)

/** All case files of a folder of test/conformance. */
export function caseFiles(name: 'skydns' | 'skydns-golden'): CaseFile[] {
  return readdirSync(new URL(`${name}/`, folder))
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => ({
      path: `${name}/${file}`,
      ...(JSON.parse(readFileSync(new URL(`${name}/${file}`, folder), 'utf8')) as Omit<CaseFile, 'path'>)
    }))
}

/** The Corefile that a case file's SkyDNS configuration stands for, on a free port of loopback; `upstream` is an `ADDRESS:PORT`. */
export function corefileOf({ config }: Pick<CaseFile, 'config'>, upstream: string): string {
  return textOf([`-nameservers=${upstream}`], config)
}

/** What an answer and a case say, in a form that a test can compare: sections as sorted lists, names without case. */
export function comparable(got: Answer, wanted: Case): { got: unknown; wanted: unknown } {
  const withFlags = wanted.rcode === 'NOERROR' || wanted.rcode === 'NXDOMAIN'
  const forwarded = !wanted.flags.includes('aa')
  const flags = wanted.rcode === 'NXDOMAIN' && got.flags.includes('aa') ? 'aa rd ra' : wanted.flags
  const name = wanted.ask.split(' ')[0]
  return {
    got: {
      rcode: got.rcode,
      qname: got.qname,
      flags: withFlags ? got.flags : '',
      answer: sorted(got.answer),
      authority: forwarded ? [] : sorted(got.authority.map(hideSerial)),
      additional: sorted(got.additional),
      order: cnamesFirst(got.answer)
    },
    wanted: {
      rcode: wanted.rcode,
      qname: name,
      flags: withFlags ? flags : '',
      answer: sorted(wanted.answer ?? []).map(hideSerial),
      authority: forwarded ? [] : sorted(wanted.authority ?? []).map(hideSerial),
      additional: sorted(wanted.additional ?? []),
      order: true
    }
  }
}

function sorted(records: readonly string[]): string[] {
  return records.map((record) => hideSerial(lowerNames(record))).sort()
}

/** Owners and names without case; text keeps its own, but for our version. */
function lowerNames(record: string): string {
  const [owner, ttl, ...rest] = record.split(' ')
  const klass = rest[0] === 'CH' ? rest.shift() : undefined
  void klass
  return rest[0] === 'TXT'
    ? `${owner!.toLowerCase()} ${ttl} ${rest.join(' ').replace(/^TXT "Skein-[^"]+"$/, 'TXT "VERSION"')}`
    : `${owner!.toLowerCase()} ${ttl} ${rest[0]} ${rest.slice(1).join(' ').toLowerCase()}`
}

function hideSerial(record: string): string {
  return record.replace(/( SOA \S+ \S+) \S+ /, '$1 SERIAL ')
}

/** Whether each CNAME stands before the records that it leads to. */
function cnamesFirst(records: readonly string[]): boolean {
  const parts = records.map((record) => record.toLowerCase().split(' '))
  return parts.every(([, , type, target], index) => type !== 'cname' || !parts.slice(0, index).some(([owner]) => owner === target))
}
