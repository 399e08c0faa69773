/** An upstream that says what a test has it say, behind a cache; used by this folder's tests alone. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MaybePromise, Query, Reply, ReplyParts, ResourceRecord } from 'skein/plugin'

/** What the upstream says. */
export type Act = (query: Query) => MaybePromise<Reply>

/** A running server. */
export interface Scripted<S> {
  readonly server: S
  /** What the upstream was asked: `name TYPE`. */
  readonly asked: string[]
  /** What it says from now on. */
  act: Act
  readonly stop: () => Promise<void>
}

const MANIFEST = '{"name":"skein-plugin-scripted","type":"module","exports":"./index.js"}'
const SCRIPT = `export default { name: 'scripted', api: 1, classes: ['IN', 'CH'],
  setup: () => ({ handle: (query) => globalThis.skeinScript(query) }) }`

/** Starts `. { cache…; …; scripted }`, one at a time; `start` is given the Corefile and where it is. */
export async function startScripted<S extends { stop(): Promise<void> }>(
  start: (corefile: string, file: string) => Promise<S>,
  act: Act,
  cache = 'cache',
  more = ''
): Promise<Scripted<S>> {
  const folder = mkdtempSync(join(tmpdir(), 'skein-cache-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const at = join(folder, 'node_modules', 'skein-plugin-scripted')
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), MANIFEST)
  writeFileSync(join(at, 'index.js'), SCRIPT)
  const server = await start(`. {\n${cache}\n${more}\nscripted\n}`, join(folder, 'Corefile')).catch((error: unknown) => {
    remove()
    throw error
  })
  const running: Scripted<S> = { server, asked: [], act, stop: () => server.stop().finally(remove) }
  Object.assign(globalThis, {
    skeinScript(query: Query) {
      running.asked.push(`${query.qname} ${query.qtype}`)
      return running.act(query)
    }
  })
  return running
}

/** What a client reads. */
interface Told {
  readonly rcode: string
  readonly flags: string
  readonly answer: readonly string[]
  readonly authority: readonly string[]
}

/** A reply as one line: `RCODE flags: answer + answer / authority`, TTLs included. */
export function shown({ rcode, flags, answer, authority }: Told): string {
  return `${rcode} ${flags}: ${answer.join(' + ')}${authority.length === 0 ? '' : ` / ${authority.join(' + ')}`}`
}

/** A reply as it comes from upstream. */
export function upstream(query: Query, parts: ReplyParts): Reply {
  return query.reply({ ra: true, origin: { kind: 'upstream', upstream: '192.0.2.53:53' }, why: 'forwarded', ...parts })
}

/** An address of the name asked for, from upstream. */
export function address(ttl: number, rdata = '192.0.2.1'): (query: Query) => Reply {
  return (query) => upstream(query, { answer: [{ owner: query.qname, type: 'A', ttl, rdata }] })
}

/** The SOA of example.org. */
export function soa(ttl: number, minimum: number, owner = 'example.org.'): ResourceRecord {
  const rdata = { mname: 'ns.example.org.', rname: 'h.example.org.', serial: 1, refresh: 2, retry: 3, expire: 4, minimum }
  return { owner, type: 'SOA', ttl, rdata }
}
