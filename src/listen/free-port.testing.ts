import { type Endpoint, ListenError } from './slot.js'

const TRIES = 5

/** Opens an endpoint on a free port: one that is free for UDP may be taken for TCP, and another is tried then. */
export async function openAnywhere<T>(
  driver: { open(endpoint: Endpoint, address: string, port: number): Promise<T> },
  endpoint: Endpoint,
  address: string
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await driver.open(endpoint, address, 0)
    } catch (error) {
      if (tries === TRIES || !(error instanceof ListenError)) throw error
    }
  }
}
