import { ConfigError } from '../corefile/directive.js'

/** Takes an error of the configuration, so that what follows is read as well. */
export type ReportError = (error: ConfigError) => void

/** Runs a step; where errors are reported, what it throws is, and the next one follows. Without it the first one is thrown. */
export function attempting(report: ReportError | undefined): (step: () => unknown) => Promise<void> {
  return async (step) => {
    try {
      await step()
    } catch (error) {
      if (report === undefined || !(error instanceof ConfigError)) throw error
      report(error)
    }
  }
}
