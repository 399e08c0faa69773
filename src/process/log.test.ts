import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { StreamLog } from './log.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

/** A stream that keeps what is written, write by write; it takes more only when `next` is called, where it is slow. */
function sink(slow = false): { stream: Writable; writes: string[]; next: () => void } {
  const writes: string[] = []
  let done: (() => void) | undefined
  const stream = new Writable({
    write(chunk: Buffer, _encoding, taken) {
      writes.push(chunk.toString())
      if (slow) done = taken
      else taken()
    }
  })
  return { stream, writes, next: () => done?.() }
}

describe('the log', () => {
  test('writes the lines of one turn at once, each with its level', async () => {
    const { stream, writes } = sink()
    const log = new StreamLog(stream)
    log.info('a')
    log.warn('b')
    log.error('c')
    log.debug('d')
    log.line('e')
    expect(writes).toEqual([])
    await turn()
    log.info('f')
    await turn()
    expect(writes).toEqual(['[INFO] a\n[WARNING] b\n[ERROR] c\ne\n', '[INFO] f\n'])
  })

  test.each([
    [false, false, []],
    [false, true, ['[DEBUG] d\n']],
    [true, false, ['[DEBUG] d\n']],
    [true, true, ['[DEBUG] d\n']]
  ])('has lines for debugging where they are asked for always (%j) or by the configuration (%j)', async (always, said, lines) => {
    const { stream, writes } = sink()
    const log = new StreamLog(stream, { debug: always })
    log.showDebug(said)
    log.debug('d')
    await turn()
    expect(writes).toEqual(lines)
  })

  test('names the plugin whose line it is', async () => {
    const { stream, writes } = sink()
    const log = new StreamLog(stream, { debug: true }).named('forward')
    log.debug('a')
    log.warn('b')
    log.line('c')
    await turn()
    expect(writes).toEqual(['[DEBUG] plugin/forward: a\n[WARNING] plugin/forward: b\nc\n'])
  })

  test('has one line for each that it is told, whatever is in it', async () => {
    const { stream, writes } = sink()
    const log = new StreamLog(stream)
    log.error('two\r\n[ERROR] lines \u001b[31mred\u2028')
    log.named('any').info('    as far in\nas before')
    log.line('two\n\nlines')
    await turn()
    expect(writes).toEqual(['[ERROR] two [ERROR] lines  [31mred \n[INFO] plugin/any:     as far in as before\ntwo lines\n'])
  })

  test('has objects of JSON where they are asked for, whatever a line says', async () => {
    const { stream, writes } = sink()
    const log = new StreamLog(stream, { format: 'json', debug: true })
    log.debug('a')
    log.warn('two\nlines')
    log.named('forward').error('"b"')
    log.line('Skein-1')
    log.line('{"msg":"as it is"}')
    await turn()
    const lines = writes.join('').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { time: expect.stringMatching(/^\d{4}-.*Z$/), level: 'DEBUG', msg: 'a' },
      { time: expect.anything(), level: 'WARN', msg: 'two\nlines' },
      { time: expect.anything(), level: 'ERROR', msg: '"b"', plugin: 'forward' },
      { time: expect.anything(), level: 'INFO', msg: 'Skein-1' },
      { msg: 'as it is' }
    ])
  })

  test('writes at once when it is flushed, and nothing twice', async () => {
    const { stream, writes } = sink()
    const log = new StreamLog(stream)
    log.line('last words')
    log.flush()
    log.flush()
    expect(writes).toEqual(['last words\n'])
    await turn()
    expect(writes).toEqual(['last words\n'])
  })

  test('leaves lines out where nobody takes them, and says how many', async () => {
    const { stream, writes, next } = sink(true)
    const log = new StreamLog(stream)
    const line = 'x'.repeat(1024 * 1024)
    for (let i = 0; i < 10; i++) {
      log.line(line)
      await turn()
    }
    expect(stream.writableLength).toBeLessThan(6 * 1024 * 1024)
    while (stream.writableLength > 0) {
      next()
      await turn()
    }
    log.line('again')
    await turn()
    expect(writes.at(-1)).toBe('again\n[WARNING] 6 lines were left out: nobody takes them fast enough\n')
  })

  test('lives on when its reader has gone', async () => {
    const stream = new Writable({ write: (_chunk, _encoding, taken) => taken(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })) })
    const log = new StreamLog(stream)
    log.line('a')
    await turn()
    log.line('b')
    await turn()
    expect(stream.destroyed).toBe(true)
  })
})
