import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { makeStore, openTables } from './tables.js'

/** More than LMDB has by itself, which are 126. */
const THREADS = 130

test('many threads read a store at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-test-'))
  const script = join(folder, 'reads.mjs')
  writeFileSync(
    script,
    `import { parentPort } from 'node:worker_threads'
    const { openTables } = await import('${new URL('./tables.js', import.meta.url).href}')
    const { root, meta } = await openTables('${folder}')
    const transaction = root.useReadTransaction()
    parentPort.postMessage(meta.get(Buffer.from('format'), { transaction }).toString())
    setInterval(() => transaction, 1000)`
  )
  await makeStore(folder)
  const { root } = await openTables(folder)
  const workers: Worker[] = []
  try {
    for (let i = 0; i < THREADS; i++) {
      const worker = new Worker(script)
      workers.push(worker)
      expect(await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))).toMatch(/^Skein store/)
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
    await root.close()
    rmSync(folder, { recursive: true })
  }
}, 120_000)
