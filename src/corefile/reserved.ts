/** The keys of a table in TOML that are no directives or options: of a server block, of a directive, and of both. */
export const RESERVED = { keys: 'keys', args: 'args', lines: 'lines' } as const
