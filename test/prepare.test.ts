import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startProcess, temporaryFolder } from './processes.js'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const node = process.execPath

// Stands for the compiler, which would take most of the time: "compiles" what is JavaScript already. The long test has the real one.
const fakeCompiler = `import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
mkdirSync('dist/src', { recursive: true })
for (const name of readdirSync('src').filter((each) => each.endsWith('.ts'))) {
  const text = readFileSync('src/' + name, 'utf8')
  if (text.includes('wrong')) {
    console.log('src/' + name + '(1,14): error TS2322')
    process.exitCode = 2
  }
  for (const ending of ['.js', '.js.map', '.d.ts']) writeFileSync('dist/src/' + name.replace('.ts', ending), text)
}`

// Leaves a note, and installs the compiler.
const fakeNpm = `import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
if (process.env.NPM_FAILS) {
  console.log('npm has its reasons')
  process.exit(7)
}
appendFileSync('log', process.argv.slice(2).join(' ') + ' as ' + process.pid + '\\n')
rmSync('node_modules', { recursive: true, force: true })
mkdirSync('node_modules/typescript/bin', { recursive: true })
writeFileSync('node_modules/typescript/bin/tsc', ${JSON.stringify(fakeCompiler)})
writeFileSync('node_modules/typescript/package.json', '{"type":"module"}')
if (process.env.NPM_HANGS) setInterval(() => {}, 1000)`

// A checkout of its own with one source, and an npm that leaves a note.
let folder: ReturnType<typeof temporaryFolder>
const at = (path: string) => join(folder.path, path)
const log = () => (existsSync(at('log')) ? readFileSync(at('log'), 'utf8') : '')

beforeEach(() => {
  folder = temporaryFolder()
  for (const name of ['src', 'bin']) mkdirSync(at(name))
  cpSync(join(repository, 'src/prepare.mjs'), at('src/prepare.mjs'))
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json']) cpSync(join(repository, name), at(name))
  writeFileSync(at('src/main.ts'), 'export async function main(argv) { console.log(JSON.stringify([argv, process.argv, process.pid])) }\n')
  writeFileSync(at('bin/npm-cli.js'), fakeNpm)
})
afterEach(() => folder.remove())

function prepare(args: string[] = [], env: Record<string, string> = {}) {
  const all = { ...process.env, npm_execpath: at('bin/npm-cli.js'), ...env }
  const { status, stdout, stderr } = spawnSync(node, [at('src/prepare.mjs'), ...args], { encoding: 'utf8', env: all })
  return { status, stdout, stderr }
}

/** As if the packages had been installed before. */
function alreadyInstalled(): void {
  expect(prepare().status).toBe(0)
  rmSync(at('log'))
}

describe('prepare', () => {
  test('installs the locked packages and builds, one line each, and then does nothing', () => {
    const done = prepare()
    expect(done).toEqual({ status: 0, stdout: '', stderr: 'installing the locked packages…\nbuilding…\n' })
    expect(log()).toMatch(/^ci --include=dev --no-audit --no-fund/)
    expect(existsSync(at('dist/src/main.js'))).toBe(true)
    expect(prepare()).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  test('installs again when the lock file has changed', () => {
    alreadyInstalled()
    writeFileSync(at('package-lock.json'), `${readFileSync(at('package-lock.json'), 'utf8')}\n`)
    expect(prepare().stderr).toContain('installing')
  })

  test('shows what npm says when it fails, and leaves no stamp', () => {
    expect(prepare([], { NPM_FAILS: '1' })).toMatchObject({
      status: 1,
      stderr: 'installing the locked packages…\nnpm has its reasons\nnpm ci failed\n'
    })
    expect(prepare().stderr).toContain('installing')
  })

  test.each<[string, () => void]>([
    ['a source has changed', () => writeFileSync(at('src/main.ts'), 'export const changed = 1\n')],
    ['a source has come', () => writeFileSync(at('src/more.ts'), 'export const more = 1\n')],
    ['a compiled file was deleted', () => rmSync(at('dist/src/main.js'))],
    ['the compiler is told something else', () => writeFileSync(at('tsconfig.json'), `${readFileSync(at('tsconfig.json'), 'utf8')}\n`)]
  ])('builds again when %s', (_, change) => {
    alreadyInstalled()
    change()
    expect(prepare()).toMatchObject({ status: 0, stderr: 'building…\n' })
    expect(existsSync(at('dist/src/main.js'))).toBe(true)
    expect(prepare().stderr).toBe('')
  })

  test('deletes what was compiled from a source that is gone', () => {
    alreadyInstalled()
    writeFileSync(at('src/gone.ts'), 'export const gone = 1\n')
    prepare()
    expect(existsSync(at('dist/src/gone.d.ts'))).toBe(true)
    rmSync(at('src/gone.ts'))
    prepare()
    for (const ending of ['js', 'js.map', 'd.ts']) expect(existsSync(at(`dist/src/gone.${ending}`))).toBe(false)
    expect(existsSync(at('dist/src/main.js'))).toBe(true)
  })

  test("prints the compiler's errors when the build fails, and tries again the next time", () => {
    alreadyInstalled()
    writeFileSync(at('src/main.ts'), 'export const wrong = 1\n')
    const failed = prepare()
    expect(failed).toMatchObject({ status: 1, stderr: expect.stringContaining('src/main.ts(1,14): error TS2322') })
    expect(failed.stderr).toMatch(/the build failed\n$/)
    expect(prepare().status).toBe(1)
  })

  test('start runs the server in the same process, as if skein run had been called', async () => {
    alreadyInstalled()
    const running = await startProcess(node, [at('src/prepare.mjs'), 'start', '-conf', 'x y'], { ready: /\n/ })
    const [given, argv, pid] = JSON.parse(running.output())
    expect(given).toEqual(['run', '-conf', 'x y'])
    expect(argv).toEqual([node, at('dist/src/main.js'), 'run', '-conf', 'x y'])
    expect(pid).toBe(running.pid)
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s during the set-up ends it and what it had started', async (signal) => {
    const env = { npm_execpath: at('bin/npm-cli.js'), NPM_HANGS: '1' }
    const running = await startProcess(node, [at('src/prepare.mjs')], { env, ready: () => log() !== '' })
    const child = Number(/ as (\d+)/.exec(log())?.[1])
    expect(child).toBeGreaterThan(0)
    process.kill(running.pid, signal)
    expect(await running.ended).toBe(signal === 'SIGTERM' ? 143 : 130)
    expect(() => process.kill(child, 0)).toThrow('ESRCH')
    expect(existsSync(at('dist/.lock'))).toBe(false)
  })

  test('two at once do the work once', async () => {
    const env = { npm_execpath: at('bin/npm-cli.js') }
    const both = await Promise.all([1, 2].map(() => startProcess(node, [at('src/prepare.mjs')], { env })))
    expect(await Promise.all(both.map((running) => running.ended))).toEqual([0, 0])
    expect(log().match(/^ci/gm)).toHaveLength(1)
  })

  test('a lock whose owner has died holds nobody up', () => {
    const { pid } = spawnSync(node, ['-e', ''])
    mkdirSync(at('dist'))
    writeFileSync(at('dist/.lock'), `${pid}`)
    expect(prepare().status).toBe(0)
  })

  test('says which Node it needs', async () => {
    const url = new URL('../../src/prepare.mjs', import.meta.url).href
    const { tooOld } = (await import(/* @vite-ignore */ url)) as { tooOld: (version: string) => string | undefined }
    expect(tooOld('18.20.4')).toBe('Skein needs Node 20 or newer; this is Node 18.20.4')
    expect(tooOld('20.0.0')).toBeUndefined()
  })
})
