/**
 * The DNS server that sandboxes ask, over UDP and TCP. It answers questions about names that the policy lets a sandbox talk to, with
 * IPv4 addresses and nothing else: no other record types, no forwarding, no way out.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { createServer, type Server as TcpServer, type Socket } from 'node:net'
import packet, { type DecodedPacket } from 'dns-packet'
import type { Clock } from '../../../../shared/clock.ts'
import { errno } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import { canonicalHost } from '../../../../shared/policy/host.ts'
import type { Tenants } from '../tenants.ts'
import { reply, type Reply } from './reply.ts'
import type { Resolver } from './resolver.ts'
import { judgeName } from './judge-name.ts'
import type { Tenant } from '../tenant.ts'

export interface DnsDeps {
  readonly clock: Clock
  readonly log: Log
  readonly tenants: Tenants
  readonly resolver: Resolver
}

/** A question with its EDNS record is well below. */
const maxQuestion = 512
const tcpIdleMs = 10_000
const maxTcpConnections = 16
const maxInFlight = 64

const decode = (bytes: Buffer): DecodedPacket | undefined => {
  try {
    return packet.decode(bytes)
  } catch {
    // What cannot be read gets no answer: it would go to whoever's address was written on it.
    return undefined
  }
}

/** The answer to a message, or undefined where silence is the answer. */
const answer = async (deps: DnsDeps, tenant: Tenant, bytes: Buffer): Promise<Buffer | undefined> => {
  if (bytes.length > maxQuestion || bytes.length < 12) return undefined
  const message = decode(bytes)
  if (message?.type !== 'query') return undefined
  const say = (what: Reply) => reply(message, what)
  const [question, ...more] = message.questions ?? []
  const { opcode } = message as { opcode?: string }
  if (opcode !== 'QUERY') return say({ rcode: 'NOTIMP' })
  if (!question || more.length > 0) return say({ rcode: 'FORMERR' })
  if (question.class !== 'IN') return say({ rcode: 'REFUSED' })
  const name = canonicalHost(question.name)
  // oxlint-disable-next-line no-control-regex
  if (name === undefined && !/^[\x21-\x7e]*$/.test(question.name)) return undefined
  if (name === undefined) return say({ rcode: 'NXDOMAIN' })
  return say(await judgeName(deps.resolver, tenant, name, question.type))
}

/** Counts what each sandbox has under way; what comes beyond its share is dropped. */
const bounded = async (tenant: Tenant, task: () => Promise<void>): Promise<void> => {
  if (tenant.dns.inFlight >= maxInFlight || !tenant.dns.rate.take()) return
  tenant.dns.inFlight++
  try {
    await task()
  } finally {
    tenant.dns.inFlight--
  }
}

const serveUdp = (deps: DnsDeps, socket: UdpSocket): void => {
  socket.on('message', (bytes, from) => {
    const tenant = deps.tenants.of({ remoteAddress: from.address })
    if (!tenant) return
    bounded(tenant, async () => {
      const answered = await answer(deps, tenant, bytes)
      if (answered) socket.send(answered, from.port, from.address)
    }).catch(error => deps.log.error('egress.dns.failed', { error }))
  })
  socket.on('error', error => deps.log.error('egress.dns.socket', { error }))
}

const serveTcp = (deps: DnsDeps, tenant: Tenant, socket: Socket): void => {
  if (tenant.dns.connections >= maxTcpConnections) return void socket.destroy()
  tenant.dns.connections++
  socket.on('close', () => tenant.dns.connections--)
  socket.on('error', () => socket.destroy())
  socket.setTimeout(tcpIdleMs, () => socket.destroy())
  let seen: Buffer = Buffer.alloc(0)
  let chain = Promise.resolve()
  const one = async (bytes: Buffer) => {
    const answered = await answer(deps, tenant, bytes)
    if (!answered || socket.destroyed) return void socket.destroy()
    const length = Buffer.alloc(2)
    length.writeUInt16BE(answered.length)
    socket.write(Buffer.concat([length, answered]))
  }
  socket.on('data', piece => {
    seen = Buffer.concat([seen, piece])
    while (seen.length >= 2) {
      const length = seen.readUInt16BE(0)
      if (length > maxQuestion) return void socket.destroy()
      if (seen.length < 2 + length) return
      const bytes = Buffer.from(seen.subarray(2, 2 + length))
      seen = seen.subarray(2 + length)
      chain = chain
        .then(() => bounded(tenant, () => one(bytes)))
        .catch(error => {
          deps.log.error('egress.dns.failed', { error })
          socket.destroy()
        })
    }
  })
}

export interface DnsServer {
  readonly port: number
  close(): Promise<void>
}

const listenUdp = (socket: UdpSocket, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(port, host, () => {
      socket.off('error', reject)
      resolve()
    })
  })

const listenTcp = (server: TcpServer, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })

/** Ports tried for `any`: one that is free for UDP may be taken for TCP. */
const maxTried = 16

const listenBoth = async (tcp: TcpServer, host: string, port: number): Promise<UdpSocket> => {
  for (let tried = 1; ; tried++) {
    const udp = createSocket('udp4')
    try {
      await listenUdp(udp, port, host)
      await listenTcp(tcp, udp.address().port, host)
      return udp
    } catch (error) {
      udp.close()
      if (port !== 0 || errno(error) !== 'EADDRINUSE' || tried === maxTried) throw error
    }
  }
}

/** Serves UDP and TCP on the same port of `host`; 0 is any. */
export const serveDns = async (deps: DnsDeps, host: string, port: number): Promise<DnsServer> => {
  const open = new Set<Socket>()
  const tcp = createServer({ noDelay: true }, socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    const tenant = deps.tenants.of(socket)
    if (tenant) serveTcp(deps, tenant, socket)
    else socket.destroy()
  })
  const udp = await listenBoth(tcp, host, port)
  serveUdp(deps, udp)
  return {
    port: udp.address().port,
    async close() {
      for (const socket of open) socket.destroy()
      await Promise.all([
        new Promise<void>(done => udp.close(() => done())),
        new Promise<void>(done => tcp.close(() => done())),
      ])
    },
  }
}
