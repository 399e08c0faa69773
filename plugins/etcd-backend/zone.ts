import { isWithin } from 'skein/plugin'

const REVERSE = ['in-addr.arpa.', 'ip6.arpa.']

/** Whether a zone has the names of addresses. */
export function isReverse(zone: string): boolean {
  return REVERSE.some((reverse) => isWithin(zone, reverse))
}

/** The name with these labels, such as `ns.dns`, before the apex. */
export function below(labels: string, apex: string): string {
  return apex === '.' ? `${labels}.` : `${labels}.${apex}`
}
