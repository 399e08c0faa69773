import {
  type Host,
  HTTP_ADDRESS,
  type HttpPlace,
  httpPlace,
  openHttp,
  type Plugin,
  readiness,
  type Schema,
  type Shared,
  type SharedValue,
  shownAddress
} from 'skein/plugin'
import { Readiness } from './readiness.js'

const PATH = '/ready'

const schema = {
  about: 'Tells by HTTP whether all plugins of all server blocks can answer.',
  args: [
    {
      name: 'ADDRESS',
      type: 'text',
      pattern: HTTP_ADDRESS,
      expected: 'an address with a port such as :8181',
      optional: true,
      default: ':8181',
      about: 'where it is told, path /ready'
    }
  ],
  options: {
    monitor: {
      args: [{ name: 'HOW', type: 'choice', of: ['until-ready', 'continuously'] }],
      default: 'until-ready',
      about: 'whether plugins are asked again once all were ready'
    }
  }
} as const satisfies Schema

/** Tells by HTTP whether all plugins of all server blocks can answer. */
export default {
  name: 'ready',
  api: 1,
  schema,
  setup({ args: [given], options: { monitor } }, host) {
    const place = httpPlace(given)
    const member = {
      isAskedAgain: monitor === 'continuously',
      ask: () => host.find(readiness).flatMap((ask) => ask())
    }
    let shared: Shared<Readiness> | undefined
    return {
      reach: { listens: place.listens },
      once: true,
      async start() {
        try {
          shared = await host.shared(`ready ${place.text}`, () => openReady(place, host))
          shared.value.join(member)
        } catch (error) {
          // Names must resolve even where nobody can ask for this.
          host.log.error(`cannot listen on ${place.text}, so nobody learns whether the server is ready: ${(error as Error).message}`)
        }
      },
      refreshed: () => shared?.value.refresh(member),
      drain: () => shared?.value.end(),
      async stop() {
        shared?.value.leave(member)
        await shared?.release()
      }
    }
  }
} satisfies Plugin<typeof schema>

async function openReady(place: HttpPlace, { log }: Host): Promise<SharedValue<Readiness>> {
  const all = new Readiness()
  const { value, close } = await openHttp(place, { paths: [PATH], read: () => all.reply(), tell: (problem) => log.error(problem) })
  log.info(`http://${shownAddress(value.address, value.port)}${PATH}`)
  return { value: all, close }
}
