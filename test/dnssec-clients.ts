/** What delv and drill say of a zone: validators of other authors than Unbound's. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from './dnssec-judging.js'
import type { ZoneKey } from './dnssec-keys.js'
import { type Question, randomQuestions } from './dnssec-questions.js'
import type { DnssecScene } from './dnssec-scene.js'
import { treeNames, ZONE } from './dnssec-tree.js'
import { tool } from './tools.js'

/** A server that is asked, and the key that its answers are trusted by. */
export interface Trusted {
  readonly port: number
  readonly zone: string
  readonly key: ZoneKey
}

/** One of the two programs: what is wrong with what it says, undefined where the answer or the denial holds. */
export type Client = (question: Question, trusted: Trusted, folder: string) => Promise<string | undefined>

const delv: Client = async ({ qname, qtype }, { port, zone, key }, folder) => {
  const file = join(folder, `anchors-${port}`)
  const [tag, algorithm, digestType, ...digest] = key.ds.split(' ')
  writeFileSync(file, `trust-anchors { "${zone}" static-ds ${tag} ${algorithm} ${digestType} "${digest.join('')}"; };\n`)
  const out = await run('delv', ['@127.0.0.1', '-p', `${port}`, '-a', file, `+root=${zone}`, '-q', qname, '-t', qtype])
  const isValid = /^; (negative response, )?fully validated$/m.test(out) && !/^; (negative response, )?unsigned answer$/m.test(out)
  return isValid ? undefined : out
}

const drill: Client = async ({ qname, qtype }, { port, key }, folder) => {
  const file = join(folder, `key-${port}`)
  writeFileSync(file, `${key.record}\n`)
  const out = await run('drill', ['-S', '-a', '-k', file, '-p', `${port}`, '@127.0.0.1', qname, qtype])
  return /^;; Chase successful$/m.test(out) ? undefined : out
}

/** The programs by name. */
export const clients = { delv, drill }

function run(name: 'delv' | 'drill', args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(tool(name), args, { timeout: 20_000 }, (error, out, err) => {
      resolve(`${out}${err}${error === null ? '' : `${name} ended with ${error.code ?? error.signal}`}`)
    })
  })
}

/**
 * Asks so many questions, whose answers an Unbound finds secure, of a program: half of them through the Unbound, up to the root, half of
 * the server itself. Gives what is wrong.
 */
export async function clientProblems(scene: DnssecScene, name: keyof typeof clients, count: number, seed: number): Promise<string[]> {
  const [validator] = scene.validators
  const root: Trusted = { port: validator!.port, zone: '.', key: scene.chain.rootKey }
  const zone: Trusted = { port: scene.tap.port, zone: `${ZONE.join('.')}.`, key: scene.keys[0]! }
  const wrong: string[] = []
  let asked = 0
  for (const question of randomQuestions(treeNames(), ZONE, 4 * count, seed)) {
    if (asked === count) break
    if (!canBeAsked(question) || !(await ask(validator!.port, question, { dnssecOk: true })).isAuthentic) continue
    const problem = await clients[name](question, asked++ % 2 === 0 ? root : zone, scene.cwd)
    if (problem !== undefined) wrong.push(`${name} ${question.qname} ${question.qtype}: ${problem}`)
  }
  if (asked < count) throw new Error(`only ${asked} questions were asked`)
  return wrong
}

// The DS at the apex is the root's; a name is no option; and meta types are no records.
function canBeAsked({ labels, qname, qtype }: Question): boolean {
  return (
    !(qtype === 'DS' && labels.length === ZONE.length) && !/^[-@+]/.test(qname) && !['ANY', 'RRSIG', 'TYPE0', 'TYPE128'].includes(qtype)
  )
}
