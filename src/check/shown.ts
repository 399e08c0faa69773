/** What a configuration is made of, as data: what `skein check` prints, in both its forms. */
import type { Configured } from '../chain/build.js'
import { directiveName } from '../chain/order.js'
import type { Directive, Place } from '../corefile/directive.js'
import { DEFAULT_PORTS } from '../corefile/key.js'
import { shownDefault } from '../corefile/option-table.js'
import { positional, wordsOfEach } from '../corefile/positional.js'
import type { Argument, Option, Schema } from '../corefile/schema.js'
import type { Instance } from '../process/instance.js'
import type { BuiltBlock } from '../process/plan.js'

/** A directive or an option, and where it came from. */
export interface ShownLine {
  readonly name: string
  readonly arguments: readonly string[]
  /** Where it stands; undefined for a default. */
  readonly at?: Place
  /** As it was written, where it has environment variables. */
  readonly spelled?: string
  /** In the order of the file, and behind them the defaults of what is not there. */
  readonly options: readonly ShownLine[]
}

/** A layer of a chain. */
export interface ShownLayer extends ShownLine {
  readonly plugin: string
  /** Where a third party's plugin was imported from. */
  readonly url?: string
}

/** A server block. */
export interface ShownBlock {
  readonly keys: readonly { readonly text: string; readonly zone: string; readonly port: number | undefined }[]
  /** `0.0.0.0` and `::` for all addresses of a family. */
  readonly addresses: readonly string[]
  readonly at: Place
  /** In the order in which a query meets them. */
  readonly chain: readonly ShownLayer[]
  /** Directives whose plugins were not imported. */
  readonly leftOut: readonly ShownLine[]
}

/** The server blocks in the order of the file. */
export function shownBlocks({ blocks }: Instance, defaultPort: number): ShownBlock[] {
  return blocks.map(({ block, addresses, chain }: BuiltBlock) => ({
    keys: block.keys.map(({ text, scheme, zone, port = scheme === 'dns' ? defaultPort : DEFAULT_PORTS[scheme] }) => ({ text, zone, port })),
    addresses,
    at: block.at,
    chain: chain.configured.map(shownLayer),
    // Nobody knows what of them is secret.
    leftOut: chain.leftOut.map(({ name, at }) => ({ name, arguments: [], at, options: [] }))
  }))
}

function shownLayer({ directive, plugin, url }: Configured): ShownLayer {
  const schema: Schema = plugin.schema ?? { about: '' }
  return { ...shownLine(positional(directive, schema), schema), plugin: plugin.name, ...(url === undefined ? {} : { url }) }
}

function shownLine(line: Directive, schema: Pick<Option, 'args' | 'options'> | undefined): ShownLine {
  const { args = [], options = {} } = schema ?? {}
  const known = (name: string): Option | undefined => (Object.hasOwn(options, name) ? options[name] : undefined)
  const given = wordsOfEach(line.args, args)
  const present = new Set(line.options.map(({ name }) => name))
  const missing = Object.entries(options).filter(([name]) => !present.has(name))
  const hidden = args.some(isSecret)
  return {
    name: line.name,
    arguments: hidden ? line.args.map(() => '***') : line.args,
    at: line.at,
    ...(line.spelled === undefined || hidden ? {} : { spelled: line.spelled }),
    options: [
      ...line.options.map((option) => shownLine(option, known(option.name))),
      ...args.filter((_, index) => given[index]!.length === 0).flatMap((argument) => defaultOf(argument.name, argument.default, argument)),
      ...missing.flatMap(([name, option]) => (option.status === undefined ? defaultOf(name, option.default, option.args?.[0]) : []))
    ]
  }
}

function defaultOf(name: string, value: unknown, type: Argument | undefined): ShownLine[] {
  const text = type !== undefined && isSecret(type) ? '' : shownDefault(value, type)
  return text === '' ? [] : [{ name, arguments: [text], options: [] }]
}

function isSecret(argument: Argument): boolean {
  return argument.type === 'text' && argument.secret === true
}

/** The plugins that were imported and are not Skein's own, each with its URL. */
export function importedPlugins({ blocks, said }: Instance): { directive: string; url: string }[] {
  const used = blocks.flatMap(({ chain }) => chain.configured).map(({ plugin, url }) => ({ directive: directiveName(plugin.name), url }))
  const named = [...said.plugins].map(([directive, { url }]) => ({ directive, url }))
  const all = [...used, ...named].flatMap(({ directive, url }) => (url === undefined ? [] : [{ directive, url }]))
  return [...new Map(all.map((each) => [each.url, each])).values()]
}
