/** The services that all servers of the bench know, their names, and the questions about them. */

/** The zone of everything here. */
export const ZONE = 'skydns.local'

/** Where SkyDNS has the zone's services. */
const ROOT = ['skydns', 'local', 'skydns']
const PER_FOLDER = 1000
const POOLS = 4
const POOL_SIZE = 4
const POOL_PORT = 8080

/** A record as all servers are to have it, the owner without its zone; the TTL is 3600. */
export interface BenchRecord {
  readonly owner: string
  readonly type: 'A' | 'SRV'
  readonly rdata: string
}

/** The name of a numbered service, without its zone. All have the same length. */
export function serviceName(number: number): string {
  return `s${pad(number, 7)}.f${pad(Math.floor(number / PER_FOLDER), 4)}`
}

/** Its address. */
export function serviceAddress(number: number): string {
  return `10.${(number >> 16) & 0xff}.${(number >> 8) & 0xff}.${number & 0xff}`
}

/** The records of the first `count` services, and of the pools that are always there. */
export function* recordsOf(count: number): Generator<BenchRecord> {
  for (const { owner, address } of poolMembers()) yield { owner, type: 'A', rdata: address }
  for (const { owner, pool } of poolMembers())
    yield { owner: pool, type: 'SRV', rdata: `10 ${100 / POOL_SIZE} ${POOL_PORT} ${owner}.${ZONE}.` }
  for (let i = 0; i < count; i++) yield { owner: serviceName(i), type: 'A', rdata: serviceAddress(i) }
}

/** Questions about `names` of the services, in an order without a pattern. */
export function serviceQuestions(services: number, names: number): string[] {
  return scattered(services, names).map((number) => `${serviceName(number)}.${ZONE} A`)
}

/** Questions about the pools: as many targets as each has, their addresses in the additional section. */
export function poolQuestions(): string[] {
  return Array.from({ length: POOLS }, (_, pool) => `pool${pool}.${ZONE} SRV`)
}

/** Questions about names that are not there, in folders that are; so many that no cache has one when it is asked again. */
export function absentQuestions(services: number, names: number): string[] {
  return scattered(services * 10, names).map((number) => {
    const folder = Math.floor((number % services) / PER_FOLDER)
    return `n${pad(number, 8)}.f${pad(folder, 4)}.${ZONE} A`
  })
}

/** Questions about names outside the zone, which are forwarded. */
export function outsideQuestions(names: number): string[] {
  return Array.from({ length: names }, (_, number) => `h${pad(number, 7)}.forward.test A`)
}

/** Key and value of each service, as SkyDNS has them in its store. */
export function* serviceEntries(count: number): Generator<{ key: readonly string[]; value: string }> {
  const keyOf = (owner: string): string[] => [...ROOT, ...owner.split('.').toReversed()]
  for (const { owner, address } of poolMembers()) yield { key: keyOf(owner), value: JSON.stringify({ host: address, port: POOL_PORT }) }
  for (let i = 0; i < count; i++) yield { key: keyOf(serviceName(i)), value: `{"host":"${serviceAddress(i)}"}` }
}

function poolMembers(): { owner: string; pool: string; address: string }[] {
  return Array.from({ length: POOLS * POOL_SIZE }, (_, i) => {
    const pool = `pool${Math.floor(i / POOL_SIZE)}`
    return { owner: `${(i % POOL_SIZE) + 1}.${pool}`, pool, address: `10.255.0.${i}` }
  })
}

/** `count` different numbers below `below`, or all of them where they are fewer: steps of a fixed ratio, so every run asks the same. */
function scattered(below: number, count: number): number[] {
  let step = Math.max(1, Math.floor(below * 0.618))
  while (commonDivisor(step, below) !== 1) step++
  return Array.from({ length: Math.min(count, below) }, (_, i) => (i * step) % below)
}

function commonDivisor(one: number, other: number): number {
  return other === 0 ? one : commonDivisor(other, one % other)
}

function pad(number: number, digits: number): string {
  return String(number).padStart(digits, '0')
}
