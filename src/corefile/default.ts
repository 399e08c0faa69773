import { parseCorefile, type ServerBlock } from './parser.js'

/** What runs when the Corefile holds no server block or is missing: CoreDNS's built-in default. */
export function defaultServerBlocks(): readonly ServerBlock[] {
  return parseCorefile('. {\n  whoami\n  log\n}\n', 'built-in Corefile').blocks
}
