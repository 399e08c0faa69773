import { describe, expect, test } from 'vitest'
import type { MetricFamily } from '../plugin.js'
import { exposition } from './exposition.js'

const family = (parts: Partial<MetricFamily>): MetricFamily => ({
  name: 'things_total',
  help: 'Things.',
  type: 'counter',
  labels: ['kind'],
  samples: [],
  ...parts
})

describe('families as Prometheus reads them', () => {
  test.each<[string, readonly MetricFamily[], string]>([
    ['none', [], ''],
    ['without samples', [family({})], ''],
    [
      'with labels',
      [family({ labels: ['kind', 'zone'], samples: [{ labels: ['a', '.'], value: 3 }] })],
      '# HELP things_total Things.\n# TYPE things_total counter\nthings_total{kind="a",zone="."} 3\n'
    ],
    [
      'without labels',
      [family({ name: 'level', type: 'gauge', labels: [], samples: [{ labels: [], value: -0.5 }] })],
      '# HELP level Things.\n# TYPE level gauge\nlevel -0.5\n'
    ],
    [
      'with what must be escaped',
      [family({ help: 'a\\b\n"c"', samples: [{ labels: ['a\\.b"\n'], value: 1 }] })],
      '# HELP things_total a\\\\b\\n"c"\n# TYPE things_total counter\nthings_total{kind="a\\\\.b\\"\\n"} 1\n'
    ],
    [
      'of one name, together',
      [
        family({ samples: [{ labels: ['a'], value: 1 }] }),
        family({ name: 'other_total', samples: [{ labels: ['a'], value: 2 }] }),
        family({ samples: [{ labels: ['b'], value: 3 }] })
      ],
      `# HELP things_total Things.\n# TYPE things_total counter\nthings_total{kind="a"} 1\nthings_total{kind="b"} 3
# HELP other_total Things.\n# TYPE other_total counter\nother_total{kind="a"} 2\n`
    ],
    [
      'with numbers that are none',
      [family({ samples: [Number.NaN, Infinity, -Infinity].map((value) => ({ labels: ['a'], value })) })],
      `# HELP things_total Things.\n# TYPE things_total counter\nthings_total{kind="a"} NaN\nthings_total{kind="a"} +Inf\nthings_total{kind="a"} -Inf\n`
    ],
    [
      'that are histograms, whose counts add up',
      [
        family({
          name: 'took_seconds',
          type: 'histogram',
          samples: [{ labels: ['a'], value: { bounds: [0.1, 1], counts: [2, 0, 1], sum: 7.5 } }]
        })
      ],
      `# HELP took_seconds Things.\n# TYPE took_seconds histogram
took_seconds_bucket{kind="a",le="0.1"} 2
took_seconds_bucket{kind="a",le="1"} 2
took_seconds_bucket{kind="a",le="+Inf"} 3
took_seconds_sum{kind="a"} 7.5
took_seconds_count{kind="a"} 3\n`
    ]
  ])('%s', (_title, families, text) => {
    expect(exposition(families)).toBe(text)
  })
})
