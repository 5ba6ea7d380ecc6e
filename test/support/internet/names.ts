/** The DNS of the small internet: a table that tests change, and everything it was asked. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import packet from 'dns-packet'
import { addresses } from './network.ts'
import type { Log } from './servers.ts'

/** Addresses, or `→ name` for an alias; a function is asked each time. */
export type Records = readonly string[] | (() => readonly string[])

export interface Names {
  readonly table: Map<string, Records>
  close(): void
}

const { cdn, single, attacker } = addresses

const world: Readonly<Record<string, readonly string[]>> = {
  'open.example': [cdn],
  'www.open.example': [cdn],
  'api.example': [cdn],
  'other.example': [cdn],
  'forbidden.example': [cdn],
  'evil.example': [cdn],
  'single.example': [single],
  'mail.example': [single],
  'attacker.example': [attacker],
  'xn--bcher-kva.example': [cdn],
}

type Answer = { type: string; name: string; ttl?: number; data: unknown }

const answersFor = (table: Map<string, Records>, name: string): Answer[] => {
  const answers: Answer[] = []
  let at = name
  for (let step = 0; step < 12; step++) {
    const records = table.get(at) ?? (at.endsWith('.wild.example') ? [single] : undefined)
    const found = typeof records === 'function' ? records() : (records ?? [])
    const alias = found.find(one => one.startsWith('→ '))?.slice(2)
    for (const data of found) if (!data.startsWith('→ ')) answers.push({ type: 'A', name: at, ttl: 60, data })
    if (!alias) break
    answers.push({ type: 'CNAME', name: at, ttl: 60, data: alias })
    at = alias
  }
  return answers
}

const reply = (table: Map<string, Records>, log: Log, bytes: Buffer, udp: boolean): Buffer => {
  const query = packet.decode(bytes)
  const question = query.questions?.[0] as { name: string; type: string }
  const name = question.name.toLowerCase()
  log.add('dns', question.name, question.type)
  const cut = udp && name.startsWith('long.')
  const answers = question.type === 'A' && !cut ? answersFor(table, name) : []
  const known = answers.length > 0 || cut
  return packet.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: 0x8180 | (cut ? packet.TRUNCATED_RESPONSE : 0) | (known ? 0 : 3),
    questions: query.questions as never,
    answers: answers as never,
  })
}

export const startNames = async (log: Log): Promise<Names> => {
  const table = new Map<string, Records>(Object.entries(world))
  const udp = createSocket('udp4')
  udp.on('message', (bytes, from) => udp.send(reply(table, log, bytes, true), from.port, from.address))
  udp.bind(53, addresses.dns)
  await once(udp, 'listening')
  const tcp = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', bytes => {
      const answer = reply(table, log, bytes.subarray(2), false)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(answer.length)
      socket.end(Buffer.concat([length, answer]))
    })
  })
  tcp.listen(53, addresses.dns)
  await once(tcp, 'listening')
  return {
    table,
    close() {
      udp.close()
      tcp.close()
    },
  }
}
