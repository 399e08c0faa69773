/** The bench's programs in C: the floor, and the client that measures latency. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { benchFile } from './corefiles.js'

const COMPILERS = ['cc', 'gcc', 'clang']

/** Compiles a program of bench/ into a folder; gives its path, or undefined where there is no C compiler. Throws where it does not compile. */
export async function compiled(name: 'floor' | 'latency', folder: string): Promise<string | undefined> {
  const program = join(folder, name)
  for (const compiler of [process.env.CC, ...COMPILERS]) {
    if (compiler === undefined || compiler === '') continue
    try {
      await promisify(execFile)(compiler, ['-O2', '-o', program, benchFile(`${name}.c`)])
      return program
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return undefined
}
