import { once } from 'node:events'
import { get } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { serverOf, TestClock, type TestServer } from 'skein/testing'
import { afterEach, describe, expect, test } from 'vitest'

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function started(corefile: string, clock = new TestClock()): Promise<TestServer> {
  const server = await serverOf(corefile, { clock })
  servers.push(server)
  return server
}

/** The pages that a server's log names. */
function pagesOf({ log }: TestServer): string[] {
  return log.lines.flatMap((line) => /http:\S+\/health$/.exec(line) ?? [])
}

function read(url: string): Promise<[status: number | undefined, text: string]> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('end', () => resolve([response.statusCode, text]))
    })
    asked.once('error', reject)
  })
}

/** The numbers of self-checks: all, failed, and the lower bounds of the histogram's that have one. */
async function numbers(server: TestServer): Promise<{ all: number; failed: number; sum: number }> {
  const text = await server.metricsText()
  const value = (name: string): number => Number(new RegExp(`^coredns_health_request_${name} (.+)$`, 'm').exec(text)?.[1])
  return { all: value('duration_seconds_count'), failed: value('failures_total'), sum: value('duration_seconds_sum') }
}

/** Waits for what comes by itself. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5)
}

describe('the server says that it runs', () => {
  test('at /health', async () => {
    const server = await started('. {\n  health 127.0.0.1:0\n  whoami\n}')
    const [url = ''] = pagesOf(server)
    expect(await read(url)).toEqual([200, 'OK'])
    expect(await read(url.replace('/health', '/'))).toEqual([404, 'there is /health alone\n'])
    expect((await server.ask('example.org. A')).rcode).toBe('NOERROR')
  })

  test.each<[title: string, one: string, other: string, ends: number]>([
    ['once for all server blocks with one address', '127.0.0.1:0', 'localhost:0', 1],
    ['at each of several addresses', '127.0.0.1:0', '[::ffff:127.0.0.1]:0', 2]
  ])('%s', async (_title, one, other, ends) => {
    const server = await started(`a.test {\n  health ${one}\n}\nb.test {\n  health ${other}\n}`)
    const pages = pagesOf(server)
    expect(pages).toHaveLength(ends)
    for (const page of pages) expect(await read(page)).toEqual([200, 'OK'])
  })

  test('no more when it has stopped', async () => {
    const server = await started('. {\n  health 127.0.0.1:0\n}')
    await servers.pop()!.stop()
    await expect(read(pagesOf(server)[0]!)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('each second it asks for its own page', () => {
  test.each(['127.0.0.1:0', ':0', '[::1]:0'])('at %s', async (address) => {
    const clock = new TestClock()
    const server = await started(`. {\n  health ${address}\n}`, clock)
    expect(await numbers(server)).toEqual({ all: 0, failed: 0, sum: 0 })
    for (const all of [1, 2, 3]) {
      clock.advance(1000)
      await until(async () => (await numbers(server)).all === all)
    }
    expect(await numbers(server)).toEqual({ all: 3, failed: 0, sum: 0 })
    expect(await server.metricsText()).toContain('coredns_health_request_duration_seconds_bucket{le="0.00025"} 3\n')
    expect(server.log.lines).toHaveLength(1)
  })

  test('and warns where that took more than one', async () => {
    const clock = new TestClock()
    const server = await started('. {\n  health 127.0.0.1:0\n}', clock)
    clock.advance(1000)
    clock.advance(1500)
    await until(async () => (await numbers(server)).all === 1)
    expect(await numbers(server)).toEqual({ all: 1, failed: 0, sum: 1.5 })
    expect(await server.metricsText()).toContain('coredns_health_request_duration_seconds_bucket{le="0.25"} 0\n')
    const [url] = pagesOf(server)
    expect(server.log.lines.slice(1)).toEqual([`[WARNING] plugin/health: the self-check at ${url} took 1.5 s`])
  })

  test('warns once where none comes within three, and counts each', async () => {
    const clock = new TestClock()
    const server = await started('. {\n  health 127.0.0.1:0\n}', clock)
    const [url] = pagesOf(server)
    for (const all of [1, 2]) {
      clock.advance(1000)
      clock.advance(3000)
      await until(async () => (await numbers(server)).all === all)
    }
    expect(await numbers(server)).toEqual({ all: 2, failed: 2, sum: 6 })
    expect(server.log.lines.slice(1)).toEqual([`[WARNING] plugin/health: the self-check at ${url} failed: no answer within 3 s`])
    clock.advance(1000)
    await until(async () => (await numbers(server)).all === 3)
    expect((await numbers(server)).failed).toBe(2)
  })

  test('until it stops, also amid a check: no timer and no number is left', async () => {
    const clock = new CountingClock()
    const server = await started('. {\n  health 127.0.0.1:0\n}', clock)
    clock.advance(1000)
    await servers.pop()!.stop()
    await sleep(20)
    expect(clock.waiting).toBe(0)
    expect(await server.metricsText()).not.toContain('coredns_health_request_duration_seconds')
    expect(server.log.lines).toHaveLength(1)
  })
})

/** Knows how many timers wait. */
class CountingClock extends TestClock {
  waiting = 0

  override after(milliseconds: number, fire: () => void): { cancel(): void } {
    let isWaiting = true
    const done = (): void => {
      if (isWaiting) this.waiting--
      isWaiting = false
    }
    this.waiting++
    const timer = super.after(milliseconds, () => {
      done()
      fire()
    })
    return {
      cancel() {
        done()
        timer.cancel()
      }
    }
  }
}

describe('before the server stops', () => {
  test.each<[title: string, blocks: string[], milliseconds: number]>([
    ['it does not wait without lameduck', [''], 0],
    ['nor where that is 0', ['lameduck 0s'], 0],
    ['it waits as long as lameduck says', ['lameduck 1m30s'], 90_000],
    ['it waits for the longest of several', ['lameduck 2s', '', 'lameduck 3s'], 3000]
  ])('%s', async (_title, options, milliseconds) => {
    const clock = new TestClock()
    const blocks = options.map((option, index) => `z${index}.test {\n  health 127.0.0.1:0 {\n    ${option}\n  }\n  whoami\n}`)
    const server = await started(blocks.join('\n'), clock)
    let isDrained = false
    const drained = server.instance.drain().then(() => (isDrained = true))
    if (milliseconds > 0) {
      clock.advance(milliseconds - 1)
      await sleep(5)
      expect(isDrained).toBe(false)
      expect(await read(pagesOf(server)[0]!)).toEqual([200, 'OK'])
      expect((await server.ask('z0.test. A')).rcode).toBe('NOERROR')
      clock.advance(1)
    }
    await drained
    const told = server.log.lines.filter((line) => line.includes('lameduck'))
    expect(told).toHaveLength(options.filter((option) => /[1-9]/.test(option)).length)
  })

  test('a wait ends where it stops all the same', async () => {
    const clock = new CountingClock()
    const server = await started('. {\n  health 127.0.0.1:0 {\n    lameduck 1h\n  }\n}', clock)
    const drained = server.instance.drain()
    expect(server.log.lines.at(-1)).toBe('[INFO] plugin/health: lameduck: the server answers for another 3600 s, and stops then')
    await servers.pop()!.stop()
    await drained
    expect(clock.waiting).toBe(0)
  })
})

describe('where it cannot listen the start fails, and leaves nothing', () => {
  test('on a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const clock = new CountingClock()
    await expect(started(`. {\n  health 127.0.0.1:${port}\n  whoami\n}`, clock)).rejects.toMatchObject({
      code: 'SKEIN_CONFIG',
      message: `Corefile:2: health: cannot listen on 127.0.0.1:${port}: the port is in use`
    })
    expect(clock.waiting).toBe(0)
    taken.close()
  })

  test('on an address that is not ours', async () => {
    await expect(started('. {\n  health 192.0.2.1:8080\n}')).rejects.toThrow(
      'Corefile:2: health: cannot listen on 192.0.2.1:8080: this machine has no such address'
    )
  })
})

describe('a wrong line is an error with file and line', () => {
  test.each([
    ...['8080', 'localhost', '127.0.0.1:', ':65536', ''].map((address) => [
      `health "${address}"`,
      `Corefile:2: health: expected an address with a port such as :8080, not "${address}"`
    ]),
    ['health :8080 :8081', 'Corefile:2: health: expected at most 1 argument, not ":8081"'],
    ['health {\n    lameduck 5\n  }', 'Corefile:3: health: lameduck: expected a duration such as 30s or 5m, not "5"'],
    ['health {\n    lameduck -5s\n  }', 'Corefile:3: health: lameduck: expected a duration such as 30s or 5m, not "-5s"'],
    ['health {\n    lameduck\n  }', 'Corefile:3: health: lameduck: expected DURATION: a duration such as 30s or 5m'],
    ['health {\n    lame 5s\n  }', 'Corefile:3: health: unknown option "lame", did you mean lameduck?'],
    ['health\n  health', 'Corefile:3: health: may stand only once in a server block, and stands in line 2 already'],
    ['health :53', 'Corefile:2: health: health is to listen on 0.0.0.0:53, where DNS is, expected another port'],
    [
      'health 127.0.0.1:9153\n  prometheus',
      'Corefile:3: prometheus: prometheus is to listen on 127.0.0.1:9153, where health of Corefile:2 is, expected another port'
    ],
    [
      'health\n  ready localhost:8080',
      'Corefile:2: health: health is to listen on 0.0.0.0:8080, where ready of Corefile:3 is, expected another port'
    ],
    [
      'health\n}\nb {\n  health 127.0.0.1:8080',
      'Corefile:5: health: health is to listen on 127.0.0.1:8080, where health of Corefile:2 is, expected another port'
    ]
  ])('%j', async (line, message) => {
    await expect(serverOf(`. {\n  ${line}\n}`)).rejects.toMatchObject({ code: 'SKEIN_CONFIG', message })
  })
})

test('a client that only connects does not keep the server from stopping', async () => {
  const server = await started('. {\n  health 127.0.0.1:0\n}')
  const { hostname, port } = new URL(pagesOf(server)[0]!)
  const silent = connect(Number(port), hostname)
  await once(silent, 'connect')
  const closed = once(silent, 'close')
  const begun = performance.now()
  await servers.pop()!.stop()
  await closed
  expect(performance.now() - begun).toBeLessThan(500)
})
