/** The egress engine in a process of its own, with a DNS server that knows one answer: 127.0.0.1. Other policies come as messages. */
import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import packet from 'dns-packet'
import { makeAuthorityKeys } from '../../../control/network/egress/ca/authority.ts'
import { createEgress } from '../../../control/network/egress/create.ts'
import { systemClock } from '../../../shared/clock.ts'
import { drawnAtOnce, idsFrom } from '../../../shared/ids.ts'
import { jsonLog } from '../../../shared/log.ts'
import { parseWireNames, wireNames } from '../../../shared/wire-names.ts'

export interface EngineSaid {
  readonly port: number
  readonly ca: string
}

const dns = createSocket('udp4')
dns.on('message', (bytes, from) => {
  const query = packet.decode(bytes)
  const name = query.questions?.[0]?.name ?? ''
  const answers = [{ type: 'A' as const, name, ttl: 3600, data: '127.0.0.1' }]
  const answer = packet.encode({
    type: 'response',
    id: query.id ?? 0,
    flags: 0x8180,
    questions: query.questions ?? [],
    answers,
  })
  dns.send(answer, from.port, from.address)
})
dns.bind(0, '127.0.0.1')
await once(dns, 'listening')

const [, , worldCa] = process.argv
const engine = await createEgress(
  {
    host: '127.0.0.1',
    ports: { proxy: 0, transparent: 0, dns: 0, datagrams: 0 },
    authority: makeAuthorityKeys('Hutch bench', Date.now()),
    extraCa: worldCa,
    allowNetworks: ['127.0.0.0/8'],
    dnsServers: [{ host: '127.0.0.1', port: dns.address().port }],
  },
  {
    clock: systemClock(),
    ids: idsFrom(drawnAtOnce(randomBytes)),
    log: jsonLog({ level: 'warn', now: Date.now, write: line => void process.stderr.write(line) }),
    wireNames: wireNames(parseWireNames(undefined, 'wireNames')),
    sandboxOf: () => 'bench',
    ownAddresses: () => new Set(),
  },
)
process.on('message', (policy: object) => {
  engine.setPolicy('bench', policy)
  process.send?.('set')
})
const said: EngineSaid = { port: engine.ports.proxy, ca: engine.caCertificate }
process.send?.(said)
process.on('SIGTERM', () => process.exit(0))
process.on('disconnect', () => process.exit(0))
