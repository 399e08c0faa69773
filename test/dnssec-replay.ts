/** Whether what was signed for one name can be passed off as another's. */
import { ask } from './dnssec-judging.js'
import type { DnssecScene } from './dnssec-scene.js'
import type { Rewriting } from './dnssec-tap.js'
import { holds, keysIn, type PublicKey, type SignedSet } from './dnssec-verifier.js'
import { type Labels, shown } from './dnssec-wire.js'

/** What is wrong with the signatures that were sent: those that do not hold for their own name, and those that hold for another. */
export async function replayProblems(scene: DnssecScene): Promise<string[]> {
  const replies = await Promise.all(scene.zones.map((zone) => ask(scene.port, { qname: shown(zone), qtype: 'DNSKEY' }, { dnssecOk: true })))
  const keys = replies.flatMap(keysIn)
  return [...scene.sets.values()].flatMap((set) => problemsOf(set, keys))
}

/** The same of one set. */
export function problemsOf(set: SignedSet, keys: readonly PublicKey[]): string[] {
  const { owner, covers } = set.signature
  const what = `the signature of ${shown(owner)} TYPE${covers}`
  const taken = othersOf(owner).filter((other) => holds(set, other, keys))
  return [...(holds(set, owner, keys) ? [] : [`${what} does not hold`]), ...taken.map((other) => `${what} holds for ${shown(other)}`)]
}

/** Names beside, below and above. */
function othersOf(owner: Labels): Labels[] {
  const [first = '', ...rest] = owner
  const beside = `${first[0] === '1' ? '2' : '1'}${first.slice(1)}`
  return [[beside, ...rest], ['*', ...rest], ['1', ...owner], ['*', ...owner], ['1', '2', ...owner], rest]
}

/** Has a server's replies about `donor` arrive as those about `victim`; both begin with labels of equal lengths, of which one differs. */
export function passOff(donor: Labels, victim: Labels): Rewriting {
  const at = donor.findIndex((label, index) => label !== victim[index])
  const part = (labels: Labels): Buffer =>
    Buffer.from(
      labels
        .slice(0, at + 1)
        .map(prefixed)
        .join(''),
      'latin1'
    )
  const [from, to] = [part(victim), part(donor)]
  return { request: (octets) => replaced(octets, from, to), reply: (octets) => replaced(octets, to, from) }
}

function prefixed(label: string): string {
  return `${String.fromCharCode(label.length)}${label}`
}

function replaced(octets: Buffer, from: Buffer, to: Buffer): Buffer {
  const changed = Buffer.from(octets)
  for (let at = changed.indexOf(from); at >= 0; at = changed.indexOf(from, at + from.length)) to.copy(changed, at)
  return changed
}
