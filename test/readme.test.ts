/** What the documentation shows is true: each Corefile starts a server, and each example of README.md gives what stands below it. */
import { execFile, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Running, startProcess, temporaryFolder } from './processes.js'
import { repositoryFiles, root } from './rules/source-file.js'
import { needs, type ToolName, tool } from './tools.js'

/** How long a server may take to stop. */
const STOP_MS = 1_500

/** How long it was told to go on answering before. */
function lameduckMs(corefile: string): number {
  return 1000 * Number(/^ *lameduck (\d+)s$/m.exec(corefile)?.[1] ?? 0)
}

interface Block {
  /** Its file and line. */
  readonly at: string
  readonly text: string
}

/** The fenced blocks of a Markdown text that are marked with a language. */
function blocksOf({ path, text }: { path: string; text: string }, language: string): Block[] {
  const blocks = text.matchAll(new RegExp(`^([ ]*)\`\`\`${language}\\n([^]*?)^\\1\`\`\`$`, 'gm'))
  return [...blocks].map((match) => ({ at: `${path}:${text.slice(0, match.index).split('\n').length}`, text: match[2] ?? '' }))
}

const files = repositoryFiles()
const pages = files.filter(({ path }) => /^(README\.md|docs\/.*\.md|plugins\/[^/]+\/README\.md)$/.test(path))
const example = files.filter(({ path }) => path === 'Corefile.example').map(({ path, text }) => ({ at: path, text }))
const corefiles = [...example, ...pages.flatMap((page) => blocksOf(page, 'corefile'))]
const commands = pages.filter(({ path }) => path === 'README.md').flatMap((page) => blocksOf(page, 'console').flatMap(commandsOf))

/** Like `needs`, and skips where this user may not make a network namespace, in which every port is free and no name server answers. */
function needsNamespace(...names: ToolName[]): ReturnType<typeof needs> {
  const wanted = needs('unshare', 'ip', ...names)
  if (wanted.skip || spawnSync(tool('unshare'), ['--net', 'true']).status === 0) return wanted
  return { skip: true, meta: { lacking: ['the right to unshare'] } }
}

/** Starts a server for the Corefile in the folder, in a network of its own with loopback alone. */
function startAlone(folder: string, corefile: string): Promise<Running> {
  const script = '"$0" link set lo up && exec "$@"'
  const server = [process.execPath, join(root, 'dist/src/main.js'), 'run', '-conf', corefile]
  return startProcess(tool('unshare'), ['--net', 'sh', '-c', script, tool('ip'), ...server], { cwd: folder, ready: /Skein-/ })
}

describe('the Corefiles of the documentation', () => {
  test('are found', () => {
    expect(example).toHaveLength(1)
    expect(corefiles.map(({ at }) => at.replace(/:\d+$/, ''))).toContain('README.md')
  })

  // Words without braces would be read as zones, and start a server too, for something else than what they show.
  test.each(corefiles.map((block) => [block.at, block] as const))('%s has a server block', (_at, { text }) => {
    expect(text).toMatch(/^[^\s#{}][^\n]*\{$/m)
  })

  describe.concurrent('start servers', needsNamespace(), () => {
    test.each(corefiles.map((block) => [block.at, block] as const))('%s', async (_at, { text }) => {
      const folder = temporaryFolder()
      writeFileSync(join(folder.path, 'Corefile'), text)
      const running = await startAlone(folder.path, 'Corefile')
      const code = await running.stop(STOP_MS + lameduckMs(text))
      expect(code, running.output()).toBe(0)
      folder.remove()
    })
  })
})

interface Command {
  readonly at: string
  readonly command: string
  readonly expected: readonly string[]
}

/** The commands of a block: `$ command`, and below it what it prints. */
function commandsOf({ at, text }: Block): Command[] {
  const [before, ...parts] = `\n${text.trimEnd()}`.split(/\n\$ /)
  if (before !== '') throw new Error(`${at}: begins with no command: ${before}`)
  return parts.map((part) => {
    const [command = '', ...expected] = part.split('\n')
    return { at, command, expected: expected.map((line) => line.trimEnd()) }
  })
}

describe('the examples of README.md', needsNamespace('nsenter', 'dig', 'curl'), () => {
  const folder = temporaryFolder()
  let running: Running
  let outputs: string[] = []

  beforeAll(async () => {
    copyFileSync(join(root, 'Corefile.example'), join(folder.path, 'Corefile.example'))
    // Commands are given in the repository's root; what they leave behind must not stay there.
    symlinkSync(join(root, 'dist'), join(folder.path, 'dist'))
    running = await startAlone(folder.path, 'Corefile.example')
    outputs = await outputsOf(commands, running.pid, folder.path)
  }, 60_000)
  afterAll(async () => {
    await running?.stop(STOP_MS)
    folder.remove()
  })

  test('are found', () => {
    expect(commands.length).toBeGreaterThan(0)
  })

  test.each(commands.map((command, index) => [command.at, command.command, command, index] as const))(
    '%s: %s',
    (_at, _name, command, index) => {
      const printed = linesOf(outputs[index] ?? 'it was not run')
      // Lines that match are shown as they are expected, so that a failure shows those alone that do not.
      const masked = printed.map((line, at) => (matches(line, command.expected[at]) ? command.expected[at] : line))
      expect(masked).toEqual(command.expected)
    }
  )
})

/** Runs the commands in one shell in the server's network; what each has printed, errors included. */
async function outputsOf(all: readonly Command[], pid: number, folder: string): Promise<string[]> {
  const separator = '\u001e'
  const home = join(folder, 'home')
  mkdirSync(home)
  const script = join(home, 'script')
  writeFileSync(script, `exec 2>&1\n${all.map(({ command }) => `${command}\nprintf '\\036'\n`).join('')}`)
  // A home without .digrc and .curlrc, and no proxy: the outputs are those of the bare commands.
  const path = [dirname(process.execPath), process.env.PATH ?? '', dirname(tool('dig'))].join(':')
  const env = { PATH: path, HOME: home, LC_ALL: 'C' }
  const { stdout } = await promisify(execFile)(tool('nsenter'), ['--target', `${pid}`, '--net', 'sh', script], { cwd: folder, env })
  return stdout.split(separator).slice(0, -1)
}

function linesOf(output: string): string[] {
  const text = output.replace(/\n$/, '')
  return text === '' ? [] : text.split('\n').map((line) => line.trimEnd())
}

/** `…` stands for anything. */
function matches(line: string, expected = ''): boolean {
  const parts = expected.split('…').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(line)
}
