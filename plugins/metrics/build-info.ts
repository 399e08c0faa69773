import type { MetricFamily } from 'skein/plugin'

/** What runs here, as CoreDNS tells it: a gauge that is 1, whose labels say it. */
export function buildInfo(version: string): MetricFamily {
  return {
    name: 'coredns_build_info',
    help: 'What was built: its version, and in goversion that of Node.js.',
    type: 'gauge',
    labels: ['version', 'revision', 'goversion'],
    samples: [{ labels: [version, '', process.version], value: 1 }]
  }
}
