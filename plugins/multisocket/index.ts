import { availableParallelism } from 'node:os'
import { answeringThreads, type Plugin, type Schema } from 'skein/plugin'

const schema = {
  about: 'Has several threads answer, for the whole process.',
  args: [
    {
      name: 'THREADS',
      type: 'integer',
      min: 1,
      max: 1024,
      optional: true,
      about: 'how many; as many as the process may use processors where left out'
    }
  ]
} as const satisfies Schema

/** Has several threads answer: it says how many, the server does it. */
export default {
  name: 'multisocket',
  api: 1,
  schema,
  setup({ args: [threads] }, host) {
    host.set(answeringThreads, threads ?? availableParallelism())
    return {}
  }
} satisfies Plugin<typeof schema>
