/** What `skein explain` prints. */
import type { Pass, Source, Step } from '../chain/step.js'
import { type Explained, LONGEST_MS, type ShownReply } from './explain.js'

/** The layers' column is as wide as its longest name, within bounds. */
const MOST_NAME = 16

/** The whole text, lines ended. `sentence` says what a reason code means, where it is known. */
export function explainText(
  { question, client, do: dnssecOk, at, reply, pass, took }: Explained,
  sentence: (why: string) => string | undefined
): string {
  const lines = [
    `${question} of ${client}${dnssecOk ? ', with DO' : ''}, asked at ${at}`,
    '',
    ...(pass === undefined ? ['no server block there has this name: it is answered before any chain'] : passLines(pass, '', sentence)),
    '',
    ...(reply === undefined ? [nothingSent(pass)] : replyLines(reply, took))
  ]
  return `${lines.join('\n')}\n`
}

function nothingSent(pass: Pass | undefined): string {
  const isWaiting = pass?.steps.some(({ did }) => did === 'is waiting') === true
  return isWaiting ? `nothing was sent within ${LONGEST_MS / 1000} s` : 'nothing is sent'
}

function passLines({ zone, at, steps, behind, now, fault }: Pass, indent: string, sentence: (why: string) => string | undefined): string[] {
  const width = Math.min(MOST_NAME, Math.max(...steps.map(({ layer }) => (layer || 'end').length), 'behind'.length))
  return [
    `${indent}${zone} in the server block ${at}`,
    ...steps.flatMap((step) => stepLines(step, width, `${indent}  `, sentence)),
    ...(behind.length === 0 ? [] : [`${indent}  ${'behind'.padEnd(width)}  not asked: ${behind.join(', ')}`]),
    ...(now === undefined ? [] : [`${indent}  behind the cache, asked now:`, ...passLines(now, `${indent}    `, sentence)]),
    ...(fault === undefined ? [] : [`${indent}  ${'fault'.padEnd(width)}  ${fault}`])
  ]
}

function stepLines(step: Step, width: number, indent: string, sentence: (why: string) => string | undefined): string[] {
  const { layer, question, did, why, notes, took, from, lookUps } = step
  const asked = question === undefined ? '' : ` (asked for ${question})`
  const reason = why === undefined ? '' : `: ${why}${told(sentence(why))}`
  const below = ' '.repeat(width + 2)
  return [
    `${indent}${(layer || 'end').padEnd(width)}  ${did}${asked}${reason}, ${took} ms`,
    ...[...notes, ...(from === undefined ? [] : [sourceText(from)])].map((text) => `${indent}${below}${text}`),
    ...lookUps.flatMap((pass) => [`${indent}${below}looked up ${pass.question}:`, ...passLines(pass, `${indent}${below}  `, sentence)])
  ]
}

function told(sentence: string | undefined): string {
  return sentence === undefined ? '' : ` (${sentence})`
}

function sourceText({ kind, keys = [], unnamedKeys = 0, revision, upstream, rtt, age }: Source): string {
  const count = `${unnamedKeys} ${keys.length === 0 ? '' : 'other '}key${unnamedKeys === 1 ? '' : 's'} of the store`
  const parts = [
    age !== undefined && `kept ${age} s ago`,
    upstream !== undefined && `upstream ${upstream}`,
    rtt !== undefined && `after ${rtt} ms`,
    revision !== undefined && `revision ${revision}`,
    keys.length > 0 && `read ${keys.join(' ')}`,
    unnamedKeys > 0 && `rests on ${count}`
  ]
  return [`from ${kind}`, ...parts.filter((part) => part !== false)].join(', ')
}

function replyLines({ rcode, flags, octets, answer, authority, additional, extendedErrors }: ShownReply, took: number): string[] {
  const sections = Object.entries({ answer, authority, additional }).filter(([, records]) => records.length > 0)
  return [
    `${[rcode, ...flags].join(' ')}, ${octets} octets, in ${took} ms`,
    ...extendedErrors.map(({ code, text }) => `extended error ${code}${text ? `: ${text}` : ''}`),
    ...sections.flatMap(([name, records]) => [`${name}:`, ...records.map((record) => `  ${record}`)])
  ]
}
