import { Directive } from './directive.js'
import type { ServerBlock } from './parser.js'

/**
 * Server blocks that another thread was sent (structured clone), which leaves directives without their methods. What was one directive is
 * one again, however often it is named.
 */
export function fromClone(blocks: readonly ServerBlock[]): ServerBlock[] {
  const made = new Map<Directive, Directive>()
  const whole = (plain: Directive, parent?: Directive): Directive => {
    const known = made.get(plain)
    if (known !== undefined) return known
    const { name, args, at, zones, block, spelled, toml, origins } = plain
    const directive = new Directive(name, args, at, zones, {
      parent,
      block: block && ((self) => block.map((line) => whole(line, self))),
      spelled,
      toml,
      origins: origins?.map((line) => whole(line, line.parent && made.get(line.parent)))
    })
    made.set(plain, directive)
    return directive
  }
  return blocks.map((block) => ({ ...block, directives: block.directives.map((directive) => whole(directive)) }))
}
