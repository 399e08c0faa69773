/** What the grammar of the package `toml` makes, before its compiler forgets where each value stood. */
declare module 'toml/lib/parser.js' {
  export interface TomlValue {
    readonly type: string
    readonly value: unknown
    /** From the start of the text, in UTF-16 units. */
    readonly offset: number
  }

  export interface TomlAssignment {
    readonly type: 'Assign' | 'InlineTableValue'
    readonly key: readonly string[]
    readonly value: TomlValue
    readonly offset: number
  }

  export interface TomlPath {
    readonly type: 'ObjectPath' | 'ArrayPath'
    readonly value: readonly string[]
    readonly offset: number
  }

  /** What is thrown for a text that the grammar does not know. */
  export interface TomlSyntaxError extends Error {
    readonly expected: readonly { readonly type: string; readonly text?: string }[]
    readonly found: string | null
    readonly location: { readonly start: { readonly offset: number } }
  }

  export type TomlNode = TomlAssignment | TomlPath

  const parser: { parse(text: string): readonly TomlNode[] }
  export default parser
}
