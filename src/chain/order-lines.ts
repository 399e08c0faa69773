/** `order NAME before|after OTHER`: where the operator puts plugins. */
import { type Directive, nearest, placeFrom, shown } from '../corefile/directive.js'
import { readBySchema } from '../corefile/read-schema.js'
import type { Schema } from '../corefile/schema.js'
import { directiveName, pluginName, STANDARD_ORDER } from './order.js'

/** What the line takes. */
export const ORDER = {
  about: 'Puts a plugin next to another, whatever the standard order says.',
  args: [
    { name: 'NAME', type: 'text' },
    { name: 'SIDE', type: 'choice', of: ['before', 'after'] },
    { name: 'OTHER', type: 'text' }
  ]
} as const satisfies Schema

/** Where a plugin was put, by which line. */
export interface Put {
  /** As a place in the standard order. */
  readonly place: number
  readonly directive: Directive
}

interface OrderLine {
  readonly name: string
  readonly side: 'before' | 'after'
  readonly anchor: string
  readonly directive: Directive
}

/** What the lines say, read one by one, as each may be wrong. */
export class OrderLines {
  readonly #lines = new Map<string, OrderLine>()

  /** Reads one more. Throws ConfigError. */
  add(directive: Directive): void {
    const [name, side, other] = readBySchema(directive, ORDER).args
    const line: OrderLine = { name: pluginName(name), side, anchor: pluginName(other), directive }
    if (!STANDARD_ORDER.includes(line.anchor)) {
      const near = nearest(other, STANDARD_ORDER.map(directiveName))
      directive.fail(`${shown(other)} is no built-in plugin${near === undefined ? '' : `: did you mean ${near}?`}`)
    }
    if (line.name === line.anchor) directive.fail(`${name} cannot stand ${side} itself, expected another plugin`)
    const before = this.#lines.get(line.name)
    if (before !== undefined && (before.side !== side || before.anchor !== line.anchor))
      directive.fail(`${placeFrom(before.directive.at, directive.at)} puts ${name} elsewhere, expected it once`)
    this.#refuseCircle(line)
    this.#lines.set(line.name, line)
  }

  /** Where each plugin stands, by its name. */
  get places(): ReadonlyMap<string, Put> {
    return new Map([...this.#lines].map(([name, line]) => [name, { place: this.#placeOf(line).place, directive: line.directive }]))
  }

  /** Next to where the other one is put itself: nearer to it than it stands to its own neighbour. */
  #placeOf({ side, anchor }: OrderLine): { place: number; step: number } {
    const line = this.#lines.get(anchor)
    const other = line === undefined ? { place: STANDARD_ORDER.indexOf(anchor), step: 1 } : this.#placeOf(line)
    const step = other.step / 4
    return { place: other.place + (side === 'before' ? -step : step), step }
  }

  /** Who stands next to another that stands next to it has no place. */
  #refuseCircle(line: OrderLine): void {
    const others: OrderLine[] = []
    for (let next = this.#lines.get(line.anchor); next !== undefined; next = this.#lines.get(next.anchor)) {
      others.push(next)
      if (next.anchor !== line.name) continue
      const said = others.map(
        ({ name, side, anchor, directive: { at } }) =>
          `order ${directiveName(name)} ${side} ${directiveName(anchor)} in ${placeFrom(at, line.directive.at)}`
      )
      line.directive.fail(`cannot be together with ${said.join(' and ')}, expected one of them less`)
    }
  }
}
