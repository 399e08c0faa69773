/** Whether what is to be listened on can be, as far as addresses and files tell. */
import { isIP } from 'node:net'
import type { Directive, Place } from '../corefile/directive.js'
import { withoutBrackets } from '../corefile/zone.js'
import { listenAddresses, type StoreOptions } from '../plugin.js'
import type { Instance } from '../process/instance.js'
import type { StoreLease } from '../process/stores.js'
import { shownAddress } from '../query.js'
import { checkFolder, checkMakeable } from '../store/folder.js'
import { StoreError } from '../store/store.js'
import { type Finding, failure, warning } from './finding.js'
import type { Machine } from './machine.js'

/** Addresses that the machine has not, and ports that this user may not have. */
export function addressFindings({ blocks, plan }: Instance, defaultPort: number, machine: Machine): Finding[] {
  return blocks.flatMap(({ scope, block, addresses }) => {
    const bind = scope.settings.directiveOf(listenAddresses)
    const foreign = machine.bindsAny ? [] : addresses.filter((address) => !machine.has(address))
    const ports = new Set(block.keys.map(({ port = defaultPort }) => port).filter((port) => port > 0 && port < machine.firstPort))
    // Without a plan no address is served at all, and why is told already.
    return [
      ...foreign.map((address) =>
        failure('address', `${bind?.name ?? 'bind'}: this machine has no address ${address}, expected one of its own`, bind?.at ?? block.at)
      ),
      ...(plan.length === 0 ? [] : [...ports]).map((port) =>
        warning('port', `port ${port} needs root or CAP_NET_BIND_SERVICE, and this user is not root`, block.at)
      )
    ]
  })
}

/** Folders that no store can be in, and keys APIs that cannot listen. */
export function storeFindings(used: StoreLease['used'], { plan }: Instance, machine: Machine): Finding[] {
  return used.flatMap(({ options, at }) => [...folderFindings(options, at.at), ...apiFindings(options, at, plan, machine)])
}

function folderFindings({ folder }: StoreOptions, at: Place): Finding[] {
  try {
    if (!checkFolder(folder)) checkMakeable(folder)
    return []
  } catch (error) {
    if (error instanceof StoreError) return [failure('store', error.message, at)]
    throw error
  }
}

function apiFindings({ api }: StoreOptions, { name, at }: Directive, plan: Instance['plan'], machine: Machine): Finding[] {
  const [, host = '', digits] = /^(.+):(\d+)$/.exec(api ?? '') ?? []
  const address = withoutBrackets(host)
  if (isIP(address) === 0) return []
  if (!machine.bindsAny && !machine.has(address))
    return [failure('address', `${name}: this machine has no address ${address} for the keys API, expected one of its own`, at)]
  const port = Number(digits)
  const taken = plan.find((endpoint) => port > 0 && endpoint.port === port && overlap(endpoint.address, address))
  if (taken === undefined) return []
  return [
    failure(
      'address',
      `${name}: the keys API is to listen on ${api}, where DNS is served on ${shownAddress(taken.address, port)}, expected another port`,
      at
    )
  ]
}

function overlap(one: string, other: string): boolean {
  if (one.includes(':') !== other.includes(':')) return false
  return one === other || [one, other].some((address) => /^[0.:]+$/.test(address))
}
