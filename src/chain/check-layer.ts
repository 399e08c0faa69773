/** Whether what a plugin has set up is a layer. One in TypeScript cannot return anything else. */
import { isIP } from 'node:net'
import { isCanonical } from '../corefile/check-default.js'
import { nearest } from '../corefile/directive.js'
import { found, Given, isPlain, problemOf } from '../corefile/given.js'
import type { Layer } from '../plugin.js'

const FUNCTIONS: readonly (keyof Layer)[] = ['handle', 'observe', 'verify', 'start', 'ready', 'drain', 'refreshed', 'stop']
const MEMBERS: readonly (keyof Layer)[] = [...FUNCTIONS, 'once', 'tellsErrors', 'wantsLayer', 'reach']

/** What is wrong with it, in words; undefined where nothing is. */
export function layerProblem(layer: unknown): string | undefined {
  if (typeof layer !== 'object' || layer === null || Array.isArray(layer))
    return `its setup returned ${found(layer)}, expected { handle(query, next) }`
  return problemOf(() => checkLayer(Given.of(layer), layer))
}

function checkLayer(given: Given, layer: object): void {
  for (const key of FUNCTIONS) {
    const member = given.get(key)
    if (!member.isMissing && typeof member.value !== 'function') member.fail('a function')
  }
  given.get('once').flag()
  given.get('tellsErrors').flag()
  given.get('wantsLayer').flag()
  if (!given.get('reach').isMissing) checkReach(given.get('reach'))
  // Whoever returns something means it to do something.
  if (isPlain(layer) && MEMBERS.every((key) => given.get(key).isMissing)) {
    for (const key of Object.keys(layer)) {
      const near = nearest(key, MEMBERS)
      if (near !== undefined) given.refuse(`set up a layer with ${key} and nothing that is asked for: did you mean ${near}?`)
    }
  }
}

function checkReach(reach: Given): void {
  reach.members('an object such as { zones, ends, asks }')
  reach.onlyKeys(['zones', 'ends', 'answers', 'asks', 'makes', 'listens'])
  const [zones, ends, answers] = [reach.get('zones'), reach.get('ends'), reach.get('answers')]
  checkZones(zones)
  checkZones(ends)
  if (!answers.isMissing && answers.value !== false) answers.fail('false, or nothing')
  // Without zones it means those of its server block.
  if (Array.isArray(zones.value) && zones.value.length === 0) zones.fail('zones, or no list at all for those of the server block')
  for (const asked of addressesOf(reach.get('asks'))) {
    if (isIP(asked.get('address').text('an IP address')) === 0) asked.get('address').fail('an IP address without brackets')
    checkZones(asked.get('zones'))
  }
  const makes = reach.get('makes')
  if (!makes.isMissing) for (const made of makes.list('a list of texts')) made.text('a text such as "makes a key in ./keys"')
  // A name to listen at is looked up when that is done.
  for (const listening of addressesOf(reach.get('listens'))) listening.get('address').text('an address')
}

function checkZones(zones: Given): void {
  if (zones.isMissing) return
  for (const name of zones.list('a list of zones')) if (!isCanonical(name.value)) name.fail('a canonical name such as "example.org."')
}

/** Addresses with their ports. */
function addressesOf(list: Given): readonly Given[] {
  if (list.isMissing) return []
  const items = list.list('a list of { address, port }')
  for (const item of items) {
    item.members('an object { address, port }')
    const port = item.get('port')
    const number = port.number(true, 'a port, a number from 0 to 65535')
    if (number < 0 || number > 65535) port.fail('a port, a number from 0 to 65535')
  }
  return items
}
