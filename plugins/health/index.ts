import {
  type Host,
  HTTP_ADDRESS,
  type HttpPlace,
  httpPlace,
  openHttp,
  type Plugin,
  type Schema,
  type Shared,
  type SharedValue
} from 'skein/plugin'
import { CheckNumbers, SelfCheck } from './self-check.js'

const PATH = '/health'

const schema = {
  about: 'Tells by HTTP that the server runs, and lets it answer for a while before it stops.',
  args: [
    {
      name: 'ADDRESS',
      type: 'text',
      pattern: HTTP_ADDRESS,
      expected: 'an address with a port such as :8080',
      optional: true,
      default: ':8080',
      about: 'where it is told, path /health'
    }
  ],
  options: {
    lameduck: {
      args: [{ name: 'DURATION', type: 'duration' }],
      default: 0,
      about: 'how long the server goes on answering after it was told to stop'
    }
  }
} as const satisfies Schema

/** Tells by HTTP that the server runs, and lets it answer for a while before it stops. */
export default {
  name: 'health',
  api: 1,
  schema,
  setup({ args: [given], options: { lameduck }, fail }, host) {
    const place = httpPlace(given)
    const shares: Shared<unknown>[] = []
    let endWaiting = (): void => {}
    return {
      reach: { listens: place.listens.map((each) => ({ ...each, needed: true })) },
      once: true,
      async start() {
        // All ends count together.
        const numbers = await host.shared('health', () => {
          const value = new CheckNumbers(host.metrics)
          return { value, close: host.metrics.collect(() => value.families()) }
        })
        shares.push(numbers)
        try {
          shares.push(await host.shared(`health ${place.text}`, () => openHealth(place, numbers.value, host)))
        } catch (error) {
          fail(`cannot listen on ${place.text}: ${(error as Error).message}`)
        }
      },
      drain() {
        if (lameduck === 0) return
        host.log.info(`lameduck: the server answers for another ${lameduck / 1000} s, and stops then`)
        return new Promise((resolve) => {
          const timer = host.clock.after(lameduck, resolve)
          endWaiting = () => {
            timer.cancel()
            resolve()
          }
        })
      },
      async stop() {
        endWaiting()
        for (const share of shares.reverse()) await share.release()
      }
    }
  }
} satisfies Plugin<typeof schema>

async function openHealth(place: HttpPlace, numbers: CheckNumbers, { clock, log }: Host): Promise<SharedValue<undefined>> {
  const { value, close } = await openHttp(place, { paths: [PATH], read: () => ({ text: 'OK' }), tell: (problem) => log.error(problem) })
  const check = new SelfCheck({ value, path: PATH, numbers, clock, log })
  log.info(check.url)
  return {
    value: undefined,
    close() {
      check.stop()
      return close()
    }
  }
}
