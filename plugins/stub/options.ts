import { type Config, type Directive, isWithin, type Key, keyOfPath, readUpstream, type Schema, shown, type Upstream } from 'skein/plugin'

/** Servers by zone; zones are canonical names, servers each stand once. */
export type Zones = ReadonlyMap<string, readonly Upstream[]>

/** A store that has zones: the one in a folder, with what stands before a reversed name in its keys; or that of the block's `etcd`. */
export type Source = { readonly kind: 'folder'; readonly folder: string; readonly path: Key } | { readonly kind: 'etcd' }

/** The directive as configured. */
export interface Options {
  /** Canonical: names in them are this server's own, but for the zones of the Corefile. Never the root. */
  readonly domains: readonly string[]
  /** The zones of the Corefile. */
  readonly zones: Zones
  /** The store that has zones too; undefined where none has. */
  readonly source: Source | undefined
}

/** What the directive `stub` takes. */
export const schema = {
  about: 'Asks the servers of stub zones, which stand in the Corefile and in the store.',
  args: [
    {
      name: 'DOMAIN',
      type: 'name',
      optional: true,
      about: 'the own domain: the store’s zones stand at `stub.dns` in it; the zones of the server block where left out'
    }
  ],
  options: {
    zone: {
      args: [
        { name: 'ZONE', type: 'zone' },
        { name: 'ADDRESSES', type: 'text', rest: true, expected: 'an address' }
      ],
      repeats: true,
      about: 'a zone and its servers: `ADDRESS`, `ADDRESS:PORT`, `[ADDRESS]:PORT`'
    },
    store: {
      args: [{ name: 'DIR', type: 'path', optional: true, default: 'data' }],
      about: 'the folder of the embedded store that has zones too; `data` where DIR is left out'
    },
    etcd: { about: 'the store that the `etcd` of the server block answers from has zones too, below its path' },
    path: {
      args: [{ name: 'PATH', type: 'text', expected: 'a path such as /skydns' }],
      about: 'what stands before the reversed name in a key of `store`; `/skydns` where left out'
    }
  }
} as const satisfies Schema

/** What the schema cannot say: addresses, and what needs what. Throws ConfigError. */
export function readOptions(config: Config<typeof schema>): Options {
  const { args, options, directive, fail } = config
  const [domain] = args
  const domains = (domain === undefined ? directive.zones : [domain]).filter((name) => name !== '.')
  const source = sourceOf(config)
  if (source === undefined && options.zone.length === 0) return fail('expected `store [DIR]`, `etcd`, or a zone: `zone ZONE ADDRESS…`')
  if (source !== undefined && domains.length === 0)
    return fail('expected DOMAIN, such as skydns.local: the store’s zones stand at stub.dns in it')
  const lines = directive.options.filter(({ name }) => name === 'zone')
  const zones = new Map<string, readonly Upstream[]>()
  for (const [index, [names, addresses]] of options.zone.entries()) {
    const line = lines[index]!
    const servers = addresses.map((text) => readServer(text, line))
    for (const name of names) {
      checkZone(line, name, domain, domains)
      zones.set(name, together(zones.get(name) ?? [], servers))
    }
  }
  return { domains, zones, source }
}

function sourceOf({ options, fail, line }: Config<typeof schema>): Source | undefined {
  const { store: folder, path, etcd } = options
  if (etcd && folder !== undefined) {
    const [first, second] = [line('etcd'), line('store')].sort((a, b) => a.at.line - b.at.line)
    return second!.fail(`${first!.name} in line ${first!.at.line} says which store has zones, expected one of the two`)
  }
  if (etcd && path !== undefined) return fail('with `etcd` the zones stand below the path of that, expected this line left out', 'path')
  if (etcd) return { kind: 'etcd' }
  if (folder !== undefined) return { kind: 'folder', folder, path: keyOfPath(path ?? '/skydns') }
  return path !== undefined ? fail('stands for a place in a store, expected `store [DIR]` too', 'path') : undefined
}

function readServer(text: string, line: Directive): Upstream {
  const server = readUpstream(text, (problem) => line.fail(`${shown(text)}: ${problem}`))
  return server ?? line.fail(`expected an address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53, not ${shown(text)}`)
}

/** Both lists, each server once. */
export function together(one: readonly Upstream[], other: readonly Upstream[]): readonly Upstream[] {
  return [...new Map([...one, ...other].map((server) => [server.text, server])).values()]
}

/** A block for one domain may have stub zones in it; DOMAIN says that all of it is answered here. */
function checkZone(line: Directive, name: string, domain: string | undefined, domains: readonly string[]): void {
  const own = domain !== undefined && domain !== '.' && isWithin(name, domain) ? domain : domains.find((apex) => apex === name)
  if (own !== undefined)
    line.fail(`${shown(name)} is no stub zone: ${own === name ? 'it is' : `it is within ${shown(own)},`} the own domain`)
}
