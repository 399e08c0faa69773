import { type Place, placeText } from '../corefile/directive.js'

/** What keeps the server from starting is an error; what is most likely not meant is a warning; what the start will do that stays is a note. */
export interface Finding {
  readonly severity: 'error' | 'warning' | 'note'
  /** Short and stable, such as `unreachable`; docs/check.md lists them. */
  readonly code: Code
  /** One line, without its place. */
  readonly problem: string
  readonly at: Place | undefined
}

/** The codes that there are. */
export type Code =
  | 'configuration'
  | 'address'
  | 'port'
  | 'store'
  | 'open-api'
  | 'read-oddly'
  | 'plugin'
  | 'unreachable'
  | 'outside'
  | 'shadowed'
  | 'bind-overlap'
  | 'no-answer'
  | 'asks-itself'
  | 'unsafe-order'
  | 'unused-line'
  | 'makes'

/** A finding as operators read it: `Corefile:3: cache: …`. */
export function shownFinding({ at, problem }: Finding): string {
  return at === undefined ? problem : `${placeText(at)}: ${problem}`
}

/** A warning. */
export function warning(code: Code, problem: string, at: Place | undefined): Finding {
  return { severity: 'warning', code, problem, at }
}

/** An error. */
export function failure(code: Code, problem: string, at: Place | undefined): Finding {
  return { severity: 'error', code, problem, at }
}

/** A note. */
export function note(code: Code, problem: string, at: Place | undefined): Finding {
  return { severity: 'note', code, problem, at }
}
