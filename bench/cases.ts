/** What is asked of which chain. */
import { absentQuestions, outsideQuestions, poolQuestions, serviceQuestions } from './services.js'

/** A case in which servers are driven and compared. */
export interface Case {
  readonly name: string
  /** A file of bench/ in place of Corefile.example. */
  readonly corefile?: string
  /** How many services the store has; `many` is what the command line says. */
  services(many: number): number
  /** Lines of `name TYPE`. */
  questions(many: number): string[]
  readonly transport: 'udp' | 'tcp'
  /** Whether every question is asked once before anything is measured, so that all caches have the answers. */
  readonly isPrimed: boolean
  /** Whether the answers come from the upstream. */
  readonly isForwarded: boolean
  /** Whether questions have DO, of a zone that is signed. The same server is measured without DO too, both with EDNS, and compared. */
  readonly isSigned?: boolean
}

const FEW = 1000
const NAMES = 4
const CACHED_NAMES = 100_000
const SAMPLE = 100_000
/** More names than any cache here keeps, so that one that comes again is not there any more. */
const NEVER_CACHED = 200_000

const common = {
  services: () => FEW,
  questions: () => serviceQuestions(FEW, NAMES),
  transport: 'udp',
  isPrimed: true,
  isForwarded: false
} as const

const allServices = {
  ...common,
  services: (many: number) => many,
  questions: (many: number) => serviceQuestions(many, SAMPLE),
  isPrimed: false
} as const

/** The cases in which servers are driven. */
export const CASES: readonly Case[] = [
  { ...common, name: 'cached-a' },
  { ...common, name: 'cached-srv', questions: poolQuestions },
  {
    ...common,
    name: 'cached-100k',
    corefile: 'Corefile.cached-100k',
    services: () => CACHED_NAMES,
    questions: () => serviceQuestions(CACHED_NAMES, CACHED_NAMES)
  },
  { ...common, name: 'cached-signed', isSigned: true },
  { ...allServices, name: 'service-a', corefile: 'Corefile.no-cache' },
  { ...allServices, name: 'nxdomain', questions: (many) => absentQuestions(many, NEVER_CACHED) },
  { ...common, name: 'forward-hit', questions: () => outsideQuestions(NAMES), isForwarded: true },
  { ...common, name: 'forward-miss', questions: () => outsideQuestions(NEVER_CACHED), isPrimed: false, isForwarded: true },
  { ...common, name: 'tcp', transport: 'tcp' }
]

/** What Skein serves in the case `pauses`. */
export const PAUSES: Case = { ...allServices, name: 'pauses', corefile: 'Corefile.pauses' }

/** What Skein serves in the case `start`. */
export const START: Case = { ...allServices, name: 'start' }

/** All that `--case` knows: the cases above, and those about Skein alone. */
export const CASE_NAMES: readonly string[] = [...CASES.map(({ name }) => name), 'pauses', 'start', 'in-process', 'signing']
