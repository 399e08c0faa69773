import type { RunningServer } from './run.js'

/** What is open besides DNS, and what to try next. */
export function banner(server: RunningServer): string[] {
  const { address, port } = server.firstAddress()
  const lines = server.instance.generation.stores.opened.map(
    ({ folder, api }) => `service store ${folder}${api === undefined ? '' : `, keys API ${shownApi(api)}`}`
  )
  const [zone] = server.instance.zonesServed
  return [...lines, `try: dig @${address} -p ${port} ${zone === undefined ? 'example.org' : `${zone} SOA`}`, 'stop: Ctrl-C']
}

function shownApi(api: string): string {
  return api.startsWith('unix:') ? api : `http://${api}/v2/keys`
}

/** What it runs on: `linux/x64, node v22.0.0`. */
export function platform(): string {
  return `${process.platform}/${process.arch}, node ${process.version}`
}
