import type { BlockServed, MetricFamily } from 'skein/plugin'

/** The chains of the server blocks that count: a gauge that is 1 for each plugin of each. */
export class Enabled {
  readonly #blocks = new Set<BlockServed>()

  add(block: BlockServed): void {
    this.#blocks.add(block)
  }

  remove(block: BlockServed): void {
    this.#blocks.delete(block)
  }

  family(): MetricFamily {
    const samples = [...this.#blocks].flatMap(({ places, chain }) =>
      places.flatMap(({ endpoint, zone }) =>
        [...new Set(chain)].map((name) => ({ labels: [`dns://${endpoint}`, zone, '', name], value: 1 }))
      )
    )
    return {
      name: 'coredns_plugin_enabled',
      help: 'Which plugins a server block has.',
      type: 'gauge',
      labels: ['server', 'zone', 'view', 'name'],
      samples
    }
  }
}
