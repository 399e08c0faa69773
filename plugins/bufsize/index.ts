import { type Plugin, udpSize } from 'skein/plugin'

const DEFAULT = 1232

/** Caps the size of replies over UDP, for the whole process. */
export default {
  name: 'bufsize',
  api: 1,
  setup(directive, host) {
    directive.noMoreThan(1)
    directive.noBlock()
    host.set(udpSize, directive.args.length === 0 ? DEFAULT : directive.integer(0, 512, 4096))
    return {}
  }
} satisfies Plugin
