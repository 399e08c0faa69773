/** Sockets that a service manager passes, really passed: each server here is started with them at its descriptors from 3 on. */
import { describe, test } from 'vitest'
import { isBatchingKnown } from '../src/listen/batch/libc.js'
import { servedAndReloaded, servedForAll } from './passed-scenes.js'
import { needs } from './tools.js'

describe.runIf(isBatchingKnown())('sockets that are passed', () => {
  test('are served in place of what would be opened, and a reload keeps them', needs('python3'), () => servedAndReloaded('batch'))

  test('for all addresses, of one family or both, are one socket each, whose replies leave from the address asked', needs('python3'), () =>
    servedForAll('batch')
  )
})
