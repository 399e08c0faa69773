/** A signing server with a store full of everything, at the end of a chain of trust, and two validators that judge it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kv, skein, start } from './command.js'
import { type Chain, startChain, startValidator, type Validator, type ValidatorOptions } from './dnssec-chain.js'
import { type Judged, judgeAll } from './dnssec-judging.js'
import { type KeyRole, makeKey, type ZoneKey } from './dnssec-keys.js'
import { type Question, randomQuestions } from './dnssec-questions.js'
import { startTap, type Tap } from './dnssec-tap.js'
import { treeLines, treeNames, ZONE } from './dnssec-tree.js'
import { idOf, type SignedSet, setsIn } from './dnssec-verifier.js'
import { isWithin, type Labels, lower, readReply, shown, signaturesIn } from './dnssec-wire.js'
import { freePort, type Running, temporaryFolder } from './processes.js'

/** How the scene is set. */
export interface SceneOptions {
  readonly denial: 'nsec' | 'nsec3'
  /** The keys that the server has at first: algorithm and role. Those that do not sign keys alone are in the parent's DS. */
  readonly keys: readonly (readonly [number, KeyRole])[]
  /** The lines of `dnssec` that say where its keys are; `keys ./keys` where left out. */
  readonly keyLines?: readonly string[]
  /** A zone of its own below the other, `sub.skydns.test`, which this server delegates to itself. */
  readonly hasChild?: boolean
  /** How many threads answer; one where left out. */
  readonly threads?: number
  /** Lines of the server block beside the usual ones. */
  readonly lines?: readonly string[]
  /** For both validators, or for each of the two. */
  readonly validators?: readonly Omit<ValidatorOptions, 'zonePort' | 'hasChild'>[]
  /** The server's environment and its validators', for another clock. */
  readonly env?: Record<string, string>
  /** The clock that signatures are held against, in seconds. */
  readonly now?: () => number
}

/** The scene. */
export interface DnssecScene {
  readonly cwd: string
  /** Where key pairs are. */
  readonly keysFolder: string
  readonly keys: readonly ZoneKey[]
  /** The zones that it signs. */
  readonly zones: readonly Labels[]
  readonly chain: Chain
  readonly server: Running
  /** The server itself, and what stands before it. */
  readonly port: number
  readonly tap: Tap
  readonly validators: readonly Validator[]
  /** Signatures that the server has sent, each once with its records. */
  readonly sets: ReadonlyMap<string, SignedSet>
  /** What was wrong with a signature that it has sent. */
  readonly faults: readonly string[]
  /** What to hand to `judge`: questions for this validator. */
  judged(validator?: Validator): Judged
  /** Has both validators judge half of so many random questions; gives what is wrong. */
  judgeRandom(count: number, seed: number): Promise<string[]>
  /** Has it read its Corefile anew, with these lines on its keys. */
  reload(keyLines?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

const CHILD: Labels = ['sub', ...ZONE]
const CUT: Labels = ['cut', ...ZONE]
const OUTSIDE: Labels = ['outside', 'test']
const VALIDATORS: readonly Omit<ValidatorOptions, 'zonePort' | 'hasChild'>[] = [{ aggressive: true }, { tcp: true }]

/** Sets the scene. */
export async function startScene(options: SceneOptions): Promise<DnssecScene> {
  const folder = temporaryFolder()
  const stops: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(stops.map((each) => each()))
    folder.remove()
  }
  try {
    return { ...(await sceneIn(folder.path, options, stops)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

// Whatever it starts it adds to `stops`.
async function sceneIn(cwd: string, options: SceneOptions, stops: (() => Promise<unknown>)[]): Promise<Omit<DnssecScene, 'stop'>> {
  const { env = {}, now = () => Date.now() / 1000 } = options
  const keysFolder = join(cwd, 'keys')
  const keys = await makeKeys(keysFolder, options)
  const filling = fill(cwd)
  const chain = await startChain(keys.filter((_, index) => options.keys[index]![1] !== 'zsk'))
  stops.push(() => chain.server.stop())
  const [port, zones] = [await freePort(), zonesOf(options)]
  const configure = (keyLines = options.keyLines): void =>
    writeFileSync(join(cwd, 'Corefile'), corefile(port, chain.server.port, { ...options, ...(keyLines && { keyLines }) }))
  configure()
  await filling
  const server = await start(cwd, [], env)
  stops.push(() => server.stop())
  const sets = new Map<string, SignedSet>()
  const faults: string[] = []
  const tap = await startTap(port, (octets) => look(octets, sets, faults, { now: now(), zones }))
  stops.push(() => tap.stop())
  const validators = await Promise.all(
    (options.validators ?? VALIDATORS).map(async (each) => {
      const validator = await startValidator(chain, { zonePort: tap.port, hasChild: options.hasChild ?? false, env, ...each })
      stops.push(() => validator.stop())
      return validator
    })
  )
  const judged = (validator = validators[0]!): Judged => judgedBy(validator, tap, options)
  const judgeRandom = async (count: number, seed: number): Promise<string[]> => {
    const questions = randomQuestions(treeNames(), ZONE, count, seed)
    const ofEach = (index: number): Question[] => questions.filter((_, at) => at % validators.length === index)
    const wrong = await Promise.all(validators.map((validator, index) => judgeAll(ofEach(index), judged(validator))))
    return wrong.flat()
  }
  const reload = async (keyLines?: readonly string[]): Promise<void> => {
    configure(keyLines)
    const { code, err } = await skein(['reload'], cwd)
    if (code !== 0) throw new Error(err)
  }
  return { cwd, keysFolder, keys, zones, chain, server, port, tap, validators, sets, faults, judged, judgeRandom, reload }
}

async function makeKeys(folder: string, { keys, hasChild }: SceneOptions): Promise<ZoneKey[]> {
  const made: ZoneKey[] = []
  for (const [algorithm, role] of keys) made.push(await makeKey(folder, ZONE.join('.'), algorithm, role))
  if (hasChild) await makeKey(folder, CHILD.join('.'), 13)
  return made
}

async function fill(cwd: string): Promise<void> {
  const said = await kv(cwd, ['import', '-store', 'data'], treeLines())
  if (said.includes('exit')) throw new Error(said)
}

function judgedBy(validator: Validator, tap: Tap, { denial }: SceneOptions): Judged {
  return {
    zone: ZONE,
    unsigned: [CUT, OUTSIDE],
    isCompact: denial === 'nsec',
    server: tap.port,
    validator: validator.port,
    log: () => validator.running.output()
  }
}

function zonesOf({ hasChild = false }: SceneOptions): Labels[] {
  return hasChild ? [ZONE, CHILD] : [ZONE]
}

function corefile(port: number, outside: number, options: SceneOptions): string {
  const { denial, keyLines = ['keys ./keys'], lines = [], threads = 1 } = options
  const zones = zonesOf(options)
    .map((zone) => zone.join('.'))
    .join(' ')
  return [
    `.:${port} {`,
    '  bind 127.0.0.1',
    `  multisocket ${threads}`,
    '  errors',
    ...lines.map((line) => `  ${line}`),
    '  stub {',
    `    zone ${CUT.join('.')} 127.0.0.1:${outside}`,
    '  }',
    `  dnssec ${zones} {`,
    ...keyLines.map((line) => `    ${line}`),
    `    denial ${denial}`,
    '  }',
    `  etcd ${zones} {`,
    '    store ./data',
    '    api off',
    '  }',
    `  forward . 127.0.0.1:${outside}`,
    '}',
    ''
  ].join('\n')
}

interface Right {
  readonly now: number
  readonly zones: readonly Labels[]
}

// Each signature that the server sends, whoever has asked for it.
function look(octets: Buffer, sets: Map<string, SignedSet>, faults: string[], right: Right): void {
  const reply = readReply(octets)
  // DS at the zone's apex is the root's, which is asked for it through the server.
  const own = signaturesIn(reply).filter(({ signer }) => signer.length > 0)
  for (const set of setsIn(reply, own)) {
    const { signature, records } = set
    const fault = faultOf(set, right)
    if (fault !== undefined && faults.length < 100) faults.push(`${shown(signature.owner)} TYPE${signature.covers}: ${fault}`)
    if (records.length > 0) sets.set(idOf(set), set)
  }
}

function faultOf({ signature, records }: SignedSet, { now, zones }: Right): string | undefined {
  const { owner, ttl, labels, originalTtl, expiration, inception, signer } = signature
  if (owner[0] === '*') return 'the owner of a signature begins with *'
  if (labels !== owner.length) return `its signature is for ${labels} labels`
  if (!zones.some((zone) => zone.join('.') === lower(signer).join('.')) || !isWithin(owner, signer))
    return `it is signed by ${shown(signer)}`
  if (inception > now) return 'its signature is not valid yet'
  if (expiration <= now + ttl) return `its signature ends in ${Math.round(expiration - now)} seconds, with a TTL of ${ttl}`
  if (originalTtl < ttl) return `its TTL is ${ttl}, more than the original ${originalTtl}`
  if (records.some((record) => record.ttl !== ttl)) return 'the signature has another TTL than the records'
  return undefined
}
