import type { EtcdEntry, EtcdEvent } from './client.js'
import type { Recent } from './mark.js'

/** So many are remembered: should the newest be deleted, there are others to tell the data by. */
const MOST = 4

/** The newest keys of some, newest first. */
export function newestOf(entries: Iterable<Pick<EtcdEntry, 'path' | 'modified'>>, before: readonly Recent[] = []): readonly Recent[] {
  let recent = before
  for (const { path, modified } of entries) {
    if (recent.length === MOST && modified <= recent[MOST - 1]!.modified) continue
    const key = path.toString('base64')
    recent = [...recent.filter((each) => each.path !== key), { path: key, modified }]
      .sort((one, other) => other.modified - one.modified)
      .slice(0, MOST)
  }
  return recent
}

/** Those that are left after changes. */
export function recentAfter(events: readonly EtcdEvent[], before: readonly Recent[]): readonly Recent[] {
  let recent = before
  for (const event of events) {
    const key = event.path.toString('base64')
    if (event.op === 'put') recent = newestOf([event], recent)
    else if (event.op === 'clear') recent = []
    else if (recent.some(({ path }) => path === key)) recent = recent.filter(({ path }) => path !== key)
  }
  return recent
}
