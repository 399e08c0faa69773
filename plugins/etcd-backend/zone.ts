import { isWithin } from 'skein/plugin'

const REVERSE = ['in-addr.arpa.', 'ip6.arpa.']

/** Whether a zone has the names of addresses. */
export function isReverse(zone: string): boolean {
  return REVERSE.some((reverse) => isWithin(zone, reverse))
}

/** The longest of the zones that a name is in. */
export function apexOf(zones: readonly string[], name: string): string | undefined {
  let best: string | undefined
  for (const zone of zones) if (isWithin(name, zone) && (best === undefined || zone.length > best.length)) best = zone
  return best
}

/** The name with these labels, such as `ns.dns`, before the apex. */
export function below(labels: string, apex: string): string {
  return apex === '.' ? `${labels}.` : `${labels}.${apex}`
}
