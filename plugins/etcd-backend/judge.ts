/** What values of the store are to be, for whoever looks for those that are no services. */
import { readService, ServiceProblem } from './service.js'

const NO_LIFE = { key: [], created: 0, modified: 0, expires: undefined }
const TIMES = { ttl: 0, now: 0, leaseTtl: () => 0 }

/** What is wrong with a value, in words that follow on "the value of KEY"; undefined where it is a service. */
export function problemOf(value: Buffer): string | undefined {
  const service = readService({ ...NO_LIFE, value }, TIMES)
  return service instanceof ServiceProblem ? service.problem : undefined
}
