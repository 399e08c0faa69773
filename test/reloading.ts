/** A server in this process that tests reload, with plugins that say what happens to them. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import type { ProcessServices } from '../src/chain/scope.js'
import { BlockScope } from '../src/chain/scope.js'
import { parseCorefile } from '../src/corefile/parser.js'
import type { Configuration } from '../src/process/configuration.js'
import { PromRegistry } from '../src/process/metrics.js'
import { type RunningServer, startServer } from '../src/process/run.js'
import { Sharing } from '../src/process/shares.js'
import { ProcessStores } from '../src/process/stores.js'
import { readAnswer, requestOctets, TestClock, TestLog } from '../src/testing.js'
import { openClient } from './dns-client.js'
import { temporaryFolder } from './processes.js'

/** The Corefile's folder. */
export const folder = temporaryFolder()
const file = join(folder.path, 'Corefile')

/** Installs a plugin. */
export function install(name: string, setup: string): void {
  const at = join(folder.path, 'node_modules', `skein-plugin-${name}`)
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{"type":"module","exports":"./index.js"}')
  const schema = "{ about: '', args: [{ name: 'WORD', type: 'text', optional: true }] }"
  writeFileSync(join(at, 'index.js'), `export default { name: '${name}', api: 1, repeatable: true, schema: ${schema}, ${setup} }`)
}

// Says what happens to it, and answers with its word.
install(
  'says',
  `setup({ args: [word] }, host) {
    const say = (what) => host.log.info(what + ' ' + word)
    return {
      start() { say('start'); if (word === 'fails') throw new Error('no') },
      stop: () => say('stop'),
      handle: (query) => query.reply({ aa: true, answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: [word] }] })
    }
  }`
)
// Answers late.
install(
  'late',
  `setup({ args: [word] }, host) {
    return { handle: async (query) => { await new Promise((done) => setTimeout(done, 200)); return query.reply({ answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: [word] }] }) } }
  }`
)
// Asks the server itself for what it is told.
install(
  'asks',
  `setup({ args: [name] }, host) {
    return { async handle(query) { const { answer } = await host.resolve(query.ask(name, 'TXT')); return query.reply({ aa: true, answer: answer.map(({ rdata }) => ({ owner: query.qname, type: 'TXT', ttl: 60, rdata })) }) } }
  }`
)
// Answers with what a file says.
install(
  'file-says',
  `async setup({ args: [file] }, host) {
    const word = (await host.readFile(file)).toString().trim()
    return { handle: (query) => query.reply({ aa: true, answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: [word] }] }) }
  }`
)

// Answers with the names in a folder.
install(
  'folder-says',
  `async setup({ args: [folder] }, host) {
    const word = (await host.readFolder(folder)).join(' ') || 'nothing'
    return { handle: (query) => query.reply({ aa: true, answer: [{ owner: query.qname, type: 'TXT', ttl: 60, rdata: [word] }] }) }
  }`
)

/** A text read as the Corefile. */
export const read = (corefile: string): Configuration => ({ ...parseCorefile(corefile, file), file, isDefault: false })

/** A server that runs. */
export interface Started {
  readonly server: RunningServer
  readonly services: ProcessServices & { readonly log: TestLog; readonly clock: TestClock; readonly metrics: PromRegistry }
  readonly ask: (question: string, transport?: 'udp' | 'tcp') => Promise<string>
  readonly askAt: (port: number, question: string, transport?: 'udp' | 'tcp') => Promise<string>
}

/** Those that were started. */
export const running: RunningServer[] = []

/** Stops them; for each file of tests to do after each of them. */
export async function stopServers(): Promise<void> {
  for (const server of running.splice(0)) await server.stop()
}

/** Starts a server, and asks it at one port; TXT answers as their text, others as their rcode. */
export async function started(corefile: string, port: number): Promise<Started> {
  const log = new TestLog()
  const clock = new TestClock()
  const metrics = new PromRegistry()
  const stores = new ProcessStores({ clock, log, metrics })
  const services = {
    log,
    clock,
    random: { below: () => 0 },
    metrics,
    stores,
    shares: new Sharing(),
    version: 'Skein-test'
  }
  const makeScope = (
    ...[generation, resolve]: ConstructorParameters<typeof BlockScope> extends [unknown, infer G, infer R] ? [G, R] : never
  ): BlockScope => new BlockScope(services, generation, resolve)
  const server = await startServer({ configuration: read(corefile), services, makeScope, defaultPort: port })
  running.push(server)
  const askAt: Started['askAt'] = async (at, question, transport = 'udp') => {
    const client = await openClient(transport, { address: '127.0.0.1', port: at })
    const { rcode, answer } = readAnswer(await client.ask(requestOctets(question, { id: Math.floor(Math.random() * 65536) })))
    client.close()
    return answer[0]?.replace(/^.* TXT /, '').replaceAll('"', '') ?? rcode
  }
  return { server, services, askAt, ask: (question, transport) => askAt(port, question, transport) }
}

/** What was said by plugins `says`. */
export const events = (log: TestLog): string[] => log.lines.flatMap((line) => /plugin\/says: (.*)$/.exec(line)?.[1] ?? [])
/** A server block on loopback. */
export const block = (zone: string, ...lines: string[]): string =>
  `${zone} {\n  bind 127.0.0.1\n${lines.map((line) => `  ${line}\n`).join('')}}\n`

/** Puts a key by the keys API on a port; gives the status. */
export function put(port: number, key: string, value: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const body = `value=${encodeURIComponent(value)}`
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path: `/v2/keys/${key}`,
        method: 'PUT',
        agent: false,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }
      },
      (response) => {
        response.resume()
        response.once('end', () => resolve(response.statusCode ?? 0))
      }
    )
    sent.once('error', reject).end(body)
  })
}
