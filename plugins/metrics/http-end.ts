import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Log, type MetricsRegistry, type SharedValue, shownAddress } from 'skein/plugin'

/** The text format that Prometheus reads. */
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
/** How many clients may be connected: a few that scrape, and some to spare. */
const MOST_CONNECTIONS = 64
/** How long a client may take to ask. */
const REQUEST_MS = 10_000
/** A server stops within a second, all its parts together. */
const FINISH_MS = 250

/** The addresses that `HOST:PORT` stands for. */
export function listensOn(address: string): { address: string; port: number }[] {
  const { host, port } = split(address)
  return (host === '' ? ['0.0.0.0', '::'] : [host]).map((each) => ({ address: each, port }))
}

/** Serves the numbers on `HOST:PORT` at /metrics, to everyone who reaches that address. Fails where it cannot listen. */
export async function openHttpEnd(address: string, metrics: MetricsRegistry, log: Log): Promise<SharedValue<AddressInfo>> {
  const server = createServer({ headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS }, ({ method, url = '' }, response) => {
    if (url.replace(/\?.*$/s, '') !== '/metrics') return plain(response, 404, 'the numbers are at /metrics\n')
    if (method !== 'GET' && method !== 'HEAD') return plain(response.setHeader('allow', 'GET, HEAD'), 405, 'read with GET\n')
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(text),
      (error: unknown) => {
        log.error(`the numbers cannot be read: ${error instanceof Error ? error.message : String(error)}`)
        plain(response, 500, 'the numbers cannot be read, see the log\n')
      }
    )
  })
  server.maxConnections = MOST_CONNECTIONS
  const value = await listen(server, address)
  // Running out of descriptors must not end the server.
  server.on('error', (error) => log.error(`${address}: ${error.message}`))
  // The numbers of the process count from the first reading on.
  await metrics.text()
  log.info(`http://${shownAddress(value.address, value.port)}/metrics`)
  return { value, close: () => close(server) }
}

async function listen(server: Server, address: string): Promise<AddressInfo> {
  const { host, port } = split(address)
  // Without a host it listens on all addresses.
  server.listen({ port, ...(host !== '' && { host }) })
  await once(server, 'listening')
  return server.address() as AddressInfo
}

function split(address: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(address) ?? []
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text)
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), FINISH_MS)
    server.close(() => {
      clearTimeout(late)
      resolve()
    })
    server.closeIdleConnections()
  })
}
