import { isWithin } from '../message/name.js'

/** What two lists of zones have in common: of each pair the zone that is within the other. */
export function commonZones(zones: readonly string[], others: readonly string[]): string[] {
  return zones.flatMap((zone) => others.flatMap((other) => (isWithin(zone, other) ? [zone] : isWithin(other, zone) ? [other] : [])))
}
