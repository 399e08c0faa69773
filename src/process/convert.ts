/** `skein convert`: a Corefile as TOML, TOML as a Corefile. */
import { loadPlugin } from '../chain/load.js'
import { CHAIN_SCHEMAS, readSaid, type Said } from '../chain/said.js'
import { ConfigError, type Directive, placeText } from '../corefile/directive.js'
import { nothingOutside } from '../corefile/outside.js'
import { parseCorefile, type ServerBlock } from '../corefile/parser.js'
import { positional } from '../corefile/positional.js'
import { printCorefile } from '../corefile/print-corefile.js'
import { printToml } from '../corefile/print-toml.js'
import { isSameTree } from '../corefile/same-tree.js'
import type { Schema } from '../corefile/schema.js'
import { parseToml } from '../corefile/toml-blocks.js'
import { type Configuration, folderOf, isToml } from './configuration.js'

/** What directives take, by their names. */
export type Schemas = ReadonlyMap<string, Schema>

/** A form of the configuration. */
interface Form {
  readonly name: string
  readonly print: (blocks: readonly ServerBlock[], schemas: Schemas) => string
  readonly parse: (text: string, file: string, ...rest: [typeof nothingOutside, 'keep']) => { readonly blocks: readonly ServerBlock[] }
}

const COREFILE: Form = { name: 'a Corefile', print: (blocks) => printCorefile(blocks), parse: parseCorefile }
const TOML: Form = { name: 'TOML', print: printToml, parse: parseToml }

/**
 * The configuration in the other form. It was read with its variables kept; imports have become lines, and comments are gone. `warn`
 * is told of plugins that are not here, as they would know the names of their arguments. Throws ConfigError where a word cannot
 * stand in the other form.
 */
export async function converted(configuration: Configuration, warn: (text: string) => void): Promise<string> {
  const { blocks, file } = configuration
  const schemas = await schemasOf(blocks, folderOf(file), warn)
  return printed(placed(blocks, schemas), isToml(file) ? COREFILE : TOML, schemas)
}

/** The text, which says the same when it is read again. */
function printed(blocks: readonly ServerBlock[], form: Form, schemas: Schemas): string {
  const text = form.print(blocks, schemas)
  if (isReadBack(text, blocks, form, schemas)) return text
  for (const block of blocks) {
    for (const directive of block.directives) {
      const alone = [{ ...block, directives: [directive] }]
      if (!isReadBack(form.print(alone, schemas), alone, form, schemas))
        directive.fail(`${form.name} cannot hold this line, expected other words`)
    }
  }
  throw new ConfigError(`${form.name} cannot hold these keys, expected zones`, blocks[0]?.at)
}

function isReadBack(text: string, blocks: readonly ServerBlock[], form: Form, schemas: Schemas): boolean {
  try {
    return isSameTree(placed(form.parse(text, form.name, nothingOutside, 'keep').blocks, schemas), blocks)
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

/** All arguments as words in their order. */
function placed(blocks: readonly ServerBlock[], schemas: Schemas): ServerBlock[] {
  return blocks.map((block) => ({
    ...block,
    directives: block.directives.map((directive) => {
      const line = positional(directive, schemas.get(directive.name) ?? { about: '' })
      checkTruths(line)
      return line
    })
  }))
}

/** What false means is for the plugin to say, or the option is none. */
function checkTruths({ options, toml, ...line }: Directive): void {
  if (toml === false) throw new ConfigError(`${line.name}: is false, and no plugin is here that says what that means`, line.at)
  for (const option of options) checkTruths(option)
}

/** The schemas of all directives whose plugins are here. */
async function schemasOf(blocks: readonly ServerBlock[], folder: string, warn: (text: string) => void): Promise<Schemas> {
  const directives = blocks.flatMap((block) => block.directives)
  const said = await readSaid(directives, folder, () => {})
  const schemas = new Map<string, Schema>(CHAIN_SCHEMAS)
  for (const directive of directives) {
    if (schemas.has(directive.name)) continue
    const schema = await schemaOf(directive, folder, said)
    if (schema !== undefined) schemas.set(directive.name, schema)
    else if (directive.toml === 'table' && directive.options.length > 0)
      warn(`${placeText(directive.at)}: the plugin of ${directive.name} is not here, so all that its table has is written as options`)
  }
  return schemas
}

async function schemaOf(directive: Directive, folder: string, { plugins }: Said): Promise<Schema | undefined> {
  const loaded = await loadPlugin(directive, folder, plugins).catch(orNothing(undefined))
  return loaded === undefined ? undefined : (loaded.plugin.schema ?? { about: '' })
}

/** Converting needs no plugin: what is wrong with one is for the start to tell. */
function orNothing<T>(nothing: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof ConfigError) return nothing
    throw error
  }
}
