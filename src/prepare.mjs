// Sets a checkout up: installs the locked packages and builds, each only where needed.
// It runs before anything is installed or built, so it imports nothing but Node's own modules, and it keeps to syntax that an old Node
// still parses, so that such a Node gets the line that says so and not a SyntaxError.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const leastNode = 20
const sourceFolders = ['src', 'plugins', 'test', 'bench', 'fuzz']
const settings = ['package.json', 'package-lock.json', 'tsconfig.json']
const lockPatienceMs = 600_000
const killGraceMs = 3_000

/** The folder that holds package.json. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** A step of the set-up that failed: `message` is one line, `output` what the tool printed. */
export class SetUpError extends Error {
  constructor(message, output = '') {
    super(message)
    this.name = 'SetUpError'
    this.output = output
  }
}

/** Brings node_modules and dist up to date; says one line for each step that has to be done, and nothing otherwise. */
export async function prepare(folder = root, say = console.error) {
  const lacking = tooOld(process.versions.node)
  if (lacking) throw new SetUpError(lacking)
  if (isInstalled(folder) && isBuilt(folder)) return
  const unlock = await lock(folder, say)
  try {
    if (!isInstalled(folder)) await install(folder, say)
    if (!isBuilt(folder)) await build(folder, say)
  } finally {
    unlock()
  }
}

/** The line for a Node that is too old, else undefined. */
export function tooOld(version) {
  if (Number(version.split('.')[0]) >= leastNode) return undefined
  return `Skein needs Node ${leastNode} or newer; this is Node ${version}`
}

function isInstalled(folder) {
  return read(join(folder, 'node_modules/.skein-stamp')) === packagesStamp(folder)
}

// The ABI belongs to it: lmdb is native code, and another Node needs another binary.
function packagesStamp(folder) {
  const lockFile = read(join(folder, 'package-lock.json'))
  if (lockFile === undefined) throw new SetUpError('package-lock.json is missing')
  return `${sha256(lockFile)} ${process.platform}-${process.arch} abi${process.versions.modules}`
}

async function install(folder, say) {
  say('installing the locked packages…')
  const stamp = packagesStamp(folder)
  rmSync(join(folder, 'node_modules/.skein-stamp'), { force: true })
  const [command, ...first] = npmCommand()
  const args = [...first, 'ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline', '--dry-run=false']
  const { code, output } = await run(command, args, { cwd: folder })
  if (code !== 0) throw new SetUpError('npm ci failed', output)
  writeFileSync(join(folder, 'node_modules/.skein-stamp'), stamp)
}

// npm names itself to its scripts; another package manager does too, and knows no `ci`.
function npmCommand() {
  const path = process.env.npm_execpath
  return path && basename(path) === 'npm-cli.js' ? [process.execPath, path] : ['npm']
}

function isBuilt(folder) {
  const sources = listSources(folder)
  return read(join(folder, 'dist/.stamp')) === sourcesStamp(folder, sources) && lacksOutput(folder, sources).length === 0
}

async function build(folder, say) {
  say('building…')
  const sources = listSources(folder)
  const stamp = sourcesStamp(folder, sources) // taken before, so that an edit during the build leads to another one
  rmSync(join(folder, 'dist/.stamp'), { force: true })
  // The compiler believes its own notes and would not write a deleted file again.
  if (lacksOutput(folder, sources).length > 0) rmSync(join(folder, 'dist/.tsbuildinfo'), { force: true })
  const compiler = join(folder, 'node_modules/typescript/bin/tsc')
  const { code, output } = await run(process.execPath, [compiler, '-p', folder, '--pretty', String(Boolean(process.stderr.isTTY))], {
    cwd: folder
  })
  if (code !== 0) throw new SetUpError('the build failed', output)
  deleteOrphans(folder)
  writeFileSync(join(folder, 'dist/.stamp'), stamp)
}

function listSources(folder) {
  return sourceFolders.flatMap((name) => listFiles(join(folder, name))).filter((path) => path.endsWith('.ts'))
}

function sourcesStamp(folder, sources) {
  const lines = [...settings.map((name) => join(folder, name)), ...sources].map((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    return found ? `${relative(folder, path)} ${found.size} ${found.mtimeMs}` : `${relative(folder, path)} gone`
  })
  return sha256(lines.sort().join('\n'))
}

function lacksOutput(folder, sources) {
  const compiled = sources.filter((path) => !path.endsWith('.d.ts'))
  return compiled.filter((path) => !existsSync(join(folder, 'dist', relative(folder, path).replace(/\.ts$/, '.js'))))
}

// A compiled test whose source is gone would still run. Asked of the disk at this moment: a source may have come during the build.
function deleteOrphans(folder) {
  const dist = join(folder, 'dist')
  for (const path of sourceFolders.flatMap((name) => listFiles(join(dist, name)))) {
    const ending = /(\.d\.ts|\.js)(\.map)?$/.exec(path)
    if (ending && !existsSync(join(folder, relative(dist, path).slice(0, -ending[0].length).concat('.ts')))) rmSync(path, { force: true })
  }
}

// Two set-ups at once (`npm start` in one terminal, `npm test` in another) would delete each other's files.
async function lock(folder, say) {
  const path = join(folder, 'dist/.lock')
  mkdirSync(dirname(path), { recursive: true })
  const deadline = Date.now() + lockPatienceMs
  for (let told = false; ; told = true) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' })
      const unlock = () => rmSync(path, { force: true })
      process.once('exit', unlock)
      return () => {
        process.off('exit', unlock)
        unlock()
      }
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const owner = read(path)
    if (owner === undefined) continue
    if (!isAlive(Number(owner)) || Date.now() > deadline) rmSync(path, { force: true })
    else if (!told) say(`waiting for the set-up in process ${owner}…`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

// An empty lock is one that its owner is just writing.
function isAlive(pid) {
  try {
    return pid === 0 || process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

const children = new Set()
let isStopping = false

/**
 * Runs a command to its end and hands back its exit code and what it printed; with `show` it prints for itself.
 * Each command leads a process group of its own, so that a stop reaches what it started in turn (npm's scripts, the compiler's binary).
 */
export function run(command, args, { cwd = root, env = process.env, show = false } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env,
      detached: true,
      stdio: show ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe']
    })
    const chunks = []
    for (const stream of [child.stdout, child.stderr]) if (stream) stream.on('data', (chunk) => chunks.push(chunk))
    const end = (code, note = '') => {
      children.delete(child)
      if (!isStopping) resolve({ code, output: Buffer.concat(chunks).toString() + note })
    }
    child.once('error', (error) => end(127, `${command}: ${error.message}\n`))
    child.once('close', (code) => end(code === null ? 1 : code))
    children.add(child)
  })
}

/** Does the work; SIGINT, SIGTERM or SIGHUP meanwhile ends this process, after the commands that `run` started. */
export async function interruptible(work) {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const stop = (name) => {
    const signal = isStopping ? 'SIGKILL' : 'SIGTERM'
    isStopping = true
    void endChildren(signal).then(() => process.exit(128 + constants.signals[name]))
  }
  for (const name of names) process.on(name, stop)
  try {
    return await work()
  } finally {
    for (const name of names) process.off(name, stop)
  }
}

async function endChildren(signal) {
  const running = [...children]
  for (const child of running) killGroup(child.pid, signal)
  const deadline = setTimeout(() => {
    for (const child of running) killGroup(child.pid, 'SIGKILL')
  }, killGraceMs)
  await Promise.all(running.map((child) => new Promise((resolve) => child.once('close', resolve))))
  clearTimeout(deadline)
}

function killGroup(pid, signal) {
  try {
    if (pid) process.kill(-pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/** Prints why the set-up failed, the tool's own words first, and ends the process; anything else is a fault and thrown on. */
export function giveUp(error) {
  if (!(error instanceof SetUpError)) throw error
  if (error.output) process.stderr.write(error.output.endsWith('\n') ? error.output : `${error.output}\n`)
  console.error(error.message)
  process.exit(1)
}

// The server runs in this very process, so that a signal sent to it reaches the server and nothing stands between.
async function start(args) {
  const path = join(root, 'dist/src/main.js')
  if (!existsSync(path)) throw new SetUpError('dist/src/main.js is missing')
  const { main } = await import(pathToFileURL(path).href)
  // Only now: while it loads, main.js must not take itself for the command that was called, or it would run twice.
  process.argv = [process.execPath, path, 'run', ...args]
  await main(process.argv.slice(2))
}

function listFiles(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listFiles(path)
    return entry.isFile() ? [path] : []
  })
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function sha256(text) {
  return createHash('sha256').update(text).digest('hex')
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [verb, ...args] = process.argv.slice(2)
  try {
    if (verb !== undefined && verb !== 'start') throw new SetUpError('usage: node src/prepare.mjs [start ARGUMENT…]')
    await interruptible(() => prepare())
  } catch (error) {
    giveUp(error)
  }
  if (verb === 'start') await start(args).catch((error) => giveUp(error))
}
