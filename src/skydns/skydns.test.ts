/** What is told of settings. */
import { expect, test } from 'vitest'
import { readFlags } from './given.js'
import { Skydns } from './skydns.js'

/** The lines about settings that somebody has said, of a server without a store yet. */
async function told(...argv: string[]): Promise<string[]> {
  const lines: string[] = []
  const tell = { info: (text: string) => lines.push(text), warn: () => {} }
  const machine = () => ({ resolvConf: undefined, passed: [] })
  const flags = ['-embedded=/nowhere/at/all', '-api=off', ...argv]
  await new Skydns(readFlags(flags).flags, { variables: {}, tell, machine }).read()
  return lines.filter((line) => argv.some((arg) => line.endsWith(`(${arg.split('=')[0]})`)))
}

test.each([
  ['-username=u', '-username is u (-username)'],
  ['-password=secret', '-password is given (-password)'],
  ['-machines=http://u:secret@a:1,http://b:2', '-machines is http://…@a:1,http://b:2 (-machines)'],
  ['-local=l.test', 'local is l.test (-local)'],
  [`-dnssec=${'x'.repeat(2000)}`, `dnssec is ${'x'.repeat(1000)}… (-dnssec)`]
])('%.20s', async (arg, line) => {
  expect(await told(arg)).toEqual([line])
})
