/** Whether what is to be listened on can be, as far as addresses and files tell. */
import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { PlacedStore } from '../chain/scope.js'
import type { Directive, Place } from '../corefile/directive.js'
import { listenAddresses } from '../plugin.js'
import type { Instance } from '../process/instance.js'
import { type Listening, listeningOf } from '../process/listening.js'
import { isPrivate, type StoreLease } from '../process/stores.js'
import { checkFolder, checkMakeable } from '../store/folder.js'
import { StoreError } from '../store/store.js'
import { MAX_SOCKET_PATH } from '../store/unix-socket.js'
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
      ...foreign.map((address) => failure('address', `${bind?.name ?? 'bind'}: ${foreignText(address)}`, bind?.at ?? block.at)),
      ...(plan.length === 0 ? [] : [...ports]).map((port) =>
        failure(
          'port',
          `port ${port} needs root or CAP_NET_BIND_SERVICE, which this user has not, expected ${machine.firstPort} or above`,
          block.at
        )
      )
    ]
  })
}

function foreignText(address: string): string {
  const isLinkLocal = /^fe[89ab]/i.test(address) && !address.includes('%')
  return isLinkLocal
    ? `${address} is on every network, expected its interface behind it, as in ${address}%eth0`
    : `this machine has no address ${address}, expected one of its own`
}

/** Folders that no store can be in, and whoever else cannot listen. */
export function storeFindings(used: StoreLease['used'], { blocks }: Instance, machine: Machine): Finding[] {
  return [
    ...used.flatMap(({ options, at }) => [...folderFindings(options, at.at), ...socketFindings(options, at), ...openFindings(options, at)]),
    ...listeningOf(blocks, used).flatMap((listening) => foreignFindings(listening, machine))
  ]
}

function folderFindings({ folder }: PlacedStore, at: Place): Finding[] {
  try {
    if (!checkFolder(folder)) checkMakeable(folder)
    return []
  } catch (error) {
    if (error instanceof StoreError) return [failure('store', error.message, at)]
    throw error
  }
}

/** What is needed keeps the start from coming about; of the rest there is a line in the log. */
function foreignFindings({ address, what, directive, isNeeded }: Listening, machine: Machine): Finding[] {
  if (machine.bindsAny || machine.has(address)) return []
  const isApi = what !== directive.name
  const problem = `${directive.name}: this machine has no address ${address}${isApi ? ` for ${what}` : ''}, expected one of its own`
  return [isNeeded ? failure('address', problem, directive.at) : warning('address', problem, directive.at)]
}

/** Whether a Unix socket can be made where the keys API is to be. */
function socketFindings({ api = '' }: PlacedStore, { name, at }: Directive): Finding[] {
  if (!api.startsWith('unix:')) return []
  const path = api.slice('unix:'.length)
  const problem = socketProblem(path)
  return problem === undefined ? [] : [failure('address', `${name}: ${problem}`, at)]
}

function socketProblem(path: string): string | undefined {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) return `the path ${path} is longer than ${MAX_SOCKET_PATH} octets, expected a shorter one`
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true)
    return `there is no folder ${dirname(path)}, expected one for the socket`
  const there = lstatSync(path, { throwIfNoEntry: false })
  return there === undefined || there.isSocket() ? undefined : `${path} is there and no socket, expected another path`
}

/** As the start warns of it. */
function openFindings({ api = 'off', token }: PlacedStore, { name, at }: Directive): Finding[] {
  if (api === 'off' || token !== undefined || isPrivate(api)) return []
  return [
    warning('open-api', `${name}: the keys API on ${api} can be written by whoever reaches it: set a token, or listen on 127.0.0.1`, at)
  ]
}
