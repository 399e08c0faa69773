/** A FORMAT of CoreDNS, made into a function once. */
import { metadata, type Part, PLACEHOLDERS } from './values.js'

/** CoreDNS's common log format, which it writes where no other is named. */
const COMMON = '{remote}:{port} - {>id} "{type} {class} {name} {proto} {size} {>do} {>bufsize}" {rcode} {>rflags} {rsize} {duration}'

/** A format that is ready to write lines. */
export interface Format {
  readonly line: Part
  /** What looks like a placeholder and is none: it stands in lines as it is, as in CoreDNS. */
  readonly unknown: readonly string[]
}

/** Makes a format ready. A line of it is one line, also where the format's own text is several. */
export function compileFormat(format: string): Format {
  const whole = format.replaceAll('{common}', COMMON).replaceAll('{combined}', `${COMMON} "{>opcode}"`)
  const { literals, parts, unknown } = split(whole.replace(/[\r\n]+/g, ' '))
  const first = literals[0]!
  const pieces = parts.map((part, index) => ({ part, after: literals[index + 1]! }))
  return {
    line: (query, sent) => {
      let text = first
      for (const { part, after } of pieces) text += part(query, sent) + after
      return text
    },
    unknown
  }
}

/** The text before, between and after the placeholders. As in CoreDNS a placeholder is what ends at a `}` and begins at the last `{` before it. */
function split(format: string): { literals: string[]; parts: Part[]; unknown: string[] } {
  const literals: string[] = []
  const parts: Part[] = []
  const unknown: string[] = []
  let literal = ''
  let at = 0
  for (let close = format.indexOf('}'); close >= 0; close = format.indexOf('}', at)) {
    const open = format.lastIndexOf('{', close)
    const label = open < at ? undefined : format.slice(open, close + 1)
    const part = label === undefined ? undefined : partOf(label)
    if (part === undefined) {
      literal += format.slice(at, close + 1)
      if (label !== undefined) unknown.push(label)
    } else {
      literals.push(literal + format.slice(at, open))
      parts.push(part)
      literal = ''
    }
    at = close + 1
  }
  return { literals: [...literals, literal + format.slice(at)], parts, unknown }
}

function partOf(label: string): Part | undefined {
  return PLACEHOLDERS.get(label) ?? (label.startsWith('{/') ? metadata(label.slice(2, -1)) : undefined)
}
