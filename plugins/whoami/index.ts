import { ipv4Octets, nameOctets, type Plugin, type ResourceRecord } from 'skein/plugin'

/** Answers every query with the client's address and port, in the additional section. */
export default {
  name: 'whoami',
  api: 1,
  repeatable: true,
  schema: { about: 'Answers every query with who asked.' },
  setup() {
    return {
      reach: { ends: ['.'] },
      handle(query) {
        const { address, port, transport } = query.client
        const bare = address.replace(/%.*$/, '')
        const type = ipv4Octets(bare) === undefined ? 'AAAA' : 'A'
        const additional: ResourceRecord[] = [{ owner: query.qname, type, ttl: 0, rdata: bare }]
        if (hasRoom(query.qname)) {
          const owner = `_${transport === 'udp' ? 'udp' : 'tcp'}.${query.qname === '.' ? '' : query.qname}`
          additional.push({ owner, type: 'SRV', ttl: 0, rdata: { priority: 0, weight: 0, port, target: '.' } })
        }
        return query.reply({ aa: true, additional, why: 'whoami' })
      }
    }
  }
} satisfies Plugin

/** Whether a label of four octets fits before this name; text is never shorter than its octets but for one. */
function hasRoom(name: string): boolean {
  return name.length + 1 + 5 <= 255 || nameOctets(name).length + 5 <= 255
}
