import type { HttpReply, NotReady } from 'skein/plugin'

/** A server block that tells at an address whether the server is ready. */
export interface Member {
  /** Whether plugins are asked also after all were ready. */
  readonly isAskedAgain: boolean
  /** Asks all plugins of the reading of the configuration that the block is part of. */
  ask(): readonly NotReady[]
}

/** What is told at one address, for all server blocks that name it. */
export class Readiness {
  readonly #members = new Set<Member>()
  /** One that serves: while a reload is under way there are some of the new configuration too, and those of the old one until they have stopped. */
  #serving: Member | undefined
  #wereReady = false
  #isEnding = false

  join(member: Member): void {
    this.#members.add(member)
    this.#serving ??= member
  }

  leave(member: Member): void {
    this.#members.delete(member)
    if (this.#serving === member) [this.#serving] = this.#members
  }

  /** A reload has taken place, after which this member serves. There may be plugins that nobody has asked yet. */
  refresh(member: Member): void {
    this.#serving = member
    this.#wereReady = false
  }

  /** The server is stopping. */
  end(): void {
    this.#isEnding = true
  }

  reply(): HttpReply {
    if (this.#isEnding) return { status: 503, text: 'Shutting down' }
    const missing = this.#isAsking() ? (this.#serving?.ask() ?? []) : []
    if (missing.length > 0) return { status: 503, text: textOf(missing) }
    this.#wereReady = true
    return { text: 'OK' }
  }

  #isAsking(): boolean {
    return !this.#wereReady || [...this.#members].some(({ isAskedAgain }) => isAskedAgain)
  }
}

/** CoreDNS's line, and below it why. */
function textOf(missing: readonly NotReady[]): string {
  const names = [...new Set(missing.map(({ directive }) => directive))].sort()
  const lines = missing.map(({ directive, why }) => `${directive}: ${why.replace(/[\s\p{Cc}]+/gu, ' ')}`)
  return [names.join(','), ...lines.sort()].join('\n')
}
