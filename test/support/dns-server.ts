/** A name server on loopback that says what a test has put into it. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import dnsPacket, { type Answer } from 'dns-packet'
import type { Test } from 'tap'

export interface Zone {
  readonly TXT?: readonly string[]
  readonly CNAME?: string
  readonly A?: readonly string[]
}

export interface DnsServer {
  readonly host: string
  readonly port: number
  /** By name; `*.example.org` stands for every name below that has none of its own. */
  readonly names: Map<string, Zone>
  /** Says nothing any more. */
  silent: boolean
}

const zoneOf = (names: ReadonlyMap<string, Zone>, name: string): Zone | undefined => {
  const own = names.get(name)
  if (own) return own
  const words = name.split('.')
  for (let at = 1; at < words.length; at++) {
    const above = names.get(`*.${words.slice(at).join('.')}`)
    if (above) return above
  }
  return undefined
}

const answersFor = (zone: Zone | undefined, name: string, type: string): Answer[] => {
  if (zone?.CNAME !== undefined) return [{ type: 'CNAME', name, ttl: 1, data: zone.CNAME }]
  if (type === 'TXT') return (zone?.TXT ?? []).map(data => ({ type: 'TXT', name, ttl: 1, data }))
  return type === 'A' ? (zone?.A ?? []).map(data => ({ type: 'A', name, ttl: 1, data })) : []
}

export const dnsServer = async (t: Test): Promise<DnsServer> => {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  const server: DnsServer = { host: '127.0.0.1', port: socket.address().port, names: new Map(), silent: false }
  socket.on('message', (message, { port, address }) => {
    if (server.silent) return
    const query = dnsPacket.decode(message)
    const [question] = query.questions ?? []
    const { name = '', type = 'A' } = question ?? {}
    const zone = zoneOf(server.names, name.toLowerCase())
    // NXDOMAIN is 3 of the response code.
    const flags = dnsPacket.AUTHORITATIVE_ANSWER | dnsPacket.RECURSION_AVAILABLE | (zone ? 0 : 3)
    const answers = answersFor(zone, name, type)
    const { id = 0, questions = [] } = query
    socket.send(dnsPacket.encode({ type: 'response', id, flags, questions, answers }), port, address)
  })
  return server
}
