import { isIPv4 } from 'node:net'
import { adminEnd, HTTP_ADDRESS, httpPlace, type Plugin, type Schema } from 'skein/plugin'

const schema = {
  about: 'Answers calls that ask and reload the running server by HTTP.',
  args: [
    {
      name: 'ADDRESS',
      type: 'text',
      pattern: HTTP_ADDRESS,
      expected: 'an address with a port such as 127.0.0.1:8053',
      about: 'where it listens; one of this machine alone where there is no token'
    }
  ],
  options: {
    token: {
      args: [
        {
          name: 'TEXT',
          type: 'text',
          pattern: /^[\x21-\x7e]{8,}$/,
          expected: 'at least 8 printable characters without spaces',
          secret: true
        }
      ],
      about: 'what clients must send as `Authorization: Bearer TEXT`'
    }
  }
} as const satisfies Schema

/** Answers calls that ask and reload the running server by HTTP: it says where, the server does it. */
export default {
  name: 'admin',
  api: 1,
  schema,
  setup({ args: [given], options: { token }, fail }, host) {
    const place = httpPlace(given)
    if (token === undefined && !isLoopback(place.host))
      fail(`whoever reaches ${place.text} could reload the server: expected \`token TEXT\`, or an address such as 127.0.0.1:${place.port}`)
    host.set(adminEnd, { place, token })
    return { reach: { listens: place.listens.map((each) => ({ ...each, needed: true })) } }
  }
} satisfies Plugin<typeof schema>

/** Addresses that only this machine reaches. */
function isLoopback(host: string): boolean {
  return host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
