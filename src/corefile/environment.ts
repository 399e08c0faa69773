/**
 * Whether a word holds a reference to an environment variable: `{$NAME}` or `{%NAME%}`.
 *
 * As CoreDNS has it: without a name or without its end it is plain text, `{{$x}}` holds one and `{{ $x }}` does not.
 */
export function hasReference(word: string): boolean {
  return holds(word, '{$', '}') || holds(word, '{%', '%}')
}

function holds(word: string, opening: string, closing: string): boolean {
  const start = word.indexOf(opening)
  return start >= 0 && word.indexOf(closing, start) > start + opening.length
}
