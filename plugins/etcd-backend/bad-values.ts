import type { Counter, Entry, Host } from 'skein/plugin'

/** How many keys are remembered as told of; of more nothing is told, since it would be told with every question. */
const MOST_REMEMBERED = 10_000

/** Tells of a value that is no service once, however often its name is asked for. */
export class BadValues {
  readonly #host: Host
  readonly #count: Counter
  readonly #told = new Map<string, number>()

  constructor(host: Host) {
    this.#host = host
    this.#count = host.metrics.counter('skein_etcd_bad_values_total', 'Values in the store that are no services, each counted once.')
  }

  tell({ key, modified }: Pick<Entry, 'key' | 'modified'>, problem: string): void {
    const path = shownPath(key)
    const before = this.#told.get(path)
    if (before === modified || (before === undefined && this.#told.size >= MOST_REMEMBERED)) return
    this.#told.set(path, modified)
    if (this.#told.size === MOST_REMEMBERED) this.#host.log.warn('so many values in the store are no services that no more are told of')
    this.#count.value++
    this.#host.log.warn(`the value of ${path} ${problem}; it is left out`)
  }
}

/** The path of a key on one line, whatever octets it has. */
function shownPath(key: Entry['key']): string {
  return `/${key.map((segment) => segment.replace(/[^!-.0-[\]-~]/g, (octet) => `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`)).join('/')}`
}
