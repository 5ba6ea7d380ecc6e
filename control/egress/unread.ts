/** Connections that are passed on without being read: TLS that nothing asks to open, and protocols that are neither TLS nor HTTP. */
import type { Socket } from 'node:net'
import { classify, type Protocol } from './classify.ts'
import { peek } from './peek.ts'
import { connectTunnel, tellTunnel, type Tunnel } from './tunnel.ts'

const protocolMs = 60 * 60_000

/** Joins the two ends. Ends when they do, or when a new policy would not let it begin. */
export const join = (tunnel: Tunnel, server: Socket, host: string): void => {
  const { engine, tenant, client } = tunnel
  const connection = { host, read: false, end: () => end() }
  tenant.relayed++
  tenant.open.add(connection)
  const release = tenant.awake.get(server)
  tenant.awake.delete(server)
  const end = engine.relay.join(client, server, () => {
    tenant.relayed--
    tenant.open.delete(connection)
    release?.()
  })
}

/** The name to judge a connection under of which only the address is known: one that the sandbox was told it by, if it is let through. */
const nameFor = ({ tenant, host, address }: Tunnel): string => {
  if (host !== undefined) return host
  const given = address as string
  if (tenant.policy.forHost(given).allowed) return given
  return tenant.names.namesOf(given).find(name => tenant.policy.forHost(name).allowed) ?? given
}

/** Judges, connects and joins; what would have to be read cannot pass. */
export const serveUnread = async (tunnel: Tunnel): Promise<void> => {
  const server = await admitUnread(tunnel)
  if (server) join(tunnel, server, nameFor(tunnel))
}

const admitUnread = async (tunnel: Tunnel): Promise<Socket | undefined> => {
  const { tenant, client } = tunnel
  const host = nameFor(tunnel)
  const verdict = tenant.policy.forHost(host)
  const refuse = (reason: string, rule?: string) => {
    tellTunnel(tunnel, 'blocked', reason, { host, rule, protocol: 'tcp' })
    tunnel.server?.destroy()
    client.destroy()
    return undefined
  }
  if (verdict.needsRequest) return refuse('protocol', verdict.rule)
  const connected = await connectTunnel(tunnel, host)
  if (!connected.ok) return refuse(connected.reason, connected.rule)
  if (client.destroyed) return void connected.socket.destroy()
  tellTunnel(tunnel, verdict.allowed ? 'allowed' : 'would_block', verdict.reason, {
    host,
    rule: verdict.rule,
    protocol: 'tcp',
  })
  if (tenant.policy.source.mode === 'record') tenant.record.add({ host })
  return connected.socket
}

/**
 * The client waits for the server to speak. It may read what comes, but what it sends first is looked at all the same: TLS or HTTP
 * that began late would have been held to its names.
 */
export const serveServerFirst = async (tunnel: Tunnel): Promise<void> => {
  const { client, engine } = tunnel
  const server = await admitUnread(tunnel)
  if (!server) return
  server.on('error', () => client.destroy())
  server.once('close', () => client.destroy())
  client.once('close', () => server.destroy())
  const pass = (piece: Buffer) => {
    if (client.write(piece)) return
    server.pause()
    client.once('drain', () => server.resume())
  }
  server.on('data', pass)
  server.once('end', () => client.end())
  let protocol = 'more' as Protocol
  await peek(client, engine.clock, protocolMs, bytes => (protocol = classify(bytes)) !== 'more')
  server.off('data', pass)
  server.pause()
  if (client.destroyed || server.destroyed) return
  if (protocol === 'other') return join(tunnel, server, nameFor(tunnel))
  if (!client.readableEnded) tellTunnel(tunnel, 'blocked', 'protocol', { host: nameFor(tunnel), protocol: 'tcp' })
  client.destroy()
}
