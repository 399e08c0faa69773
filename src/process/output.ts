/** How a command ends where its output cannot be written, or where nothing goes on. */

/** Who reads our output, `head` say, may have had enough: then there is nothing left to do, and nothing wrong. */
export function endWithReader(): void {
  process.stdout.on('error', ended)
}

/** A server answers on where nobody reads its log. */
export function goOnWithoutReader(): void {
  process.stdout.removeListener('error', ended).on('error', () => {})
}

function ended({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit()
  process.stderr.write(`skein: cannot write: ${code === 'ENOSPC' ? 'no space is left' : message}\n`)
  process.exit(1)
}

/** Has a line told where nothing goes on before `done` is called: the process would end without a word. */
export function tellOfStandstill(): { done(): void } {
  const tell = (): void =>
    void process.stderr.write('skein: ended before it was done: something that it waits for never comes, the import of a plugin say\n')
  process.once('beforeExit', tell)
  return { done: () => void process.removeListener('beforeExit', tell) }
}
