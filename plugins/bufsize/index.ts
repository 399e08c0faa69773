import { type Plugin, type Schema, udpSize } from 'skein/plugin'

const schema = {
  about: 'Caps the size of replies over UDP, for the whole process.',
  args: [{ name: 'SIZE', type: 'integer', min: 512, max: 4096, optional: true, default: 1232, about: 'octets' }]
} as const satisfies Schema

/** Caps the size of replies over UDP, for the whole process. */
export default {
  name: 'bufsize',
  api: 1,
  schema,
  setup({ args: [size] }, host) {
    host.set(udpSize, size)
    return {}
  }
} satisfies Plugin<typeof schema>
