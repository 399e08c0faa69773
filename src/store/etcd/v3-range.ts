/** The keys from `key` up to, but not with, `range_end`, as etcd's API names them. */
export interface KeyRange {
  readonly key: Buffer
  readonly range_end: Buffer
}

const SLASH = 0x2f
const ALL: KeyRange = { key: Buffer.of(0), range_end: Buffer.of(0) }

/** What is below a path, and not what is beside it: of `/skydns` neither itself nor `/skydnsx`. An empty path has all keys below it. */
export function below(path: Buffer): KeyRange {
  let end = path.length
  while (end > 0 && path[end - 1] === SLASH) end--
  if (end === 0) return ALL
  const above = path.subarray(0, end)
  return { key: Buffer.concat([above, Buffer.of(SLASH)]), range_end: Buffer.concat([above, Buffer.of(SLASH + 1)]) }
}

/** The rest of a range behind a key. */
export function behind(key: Buffer, { range_end }: KeyRange): KeyRange {
  return { key: Buffer.concat([key, Buffer.of(0)]), range_end }
}
