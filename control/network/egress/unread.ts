/** Connections that are passed on without being read: TLS that nothing asks to open, and protocols that are neither TLS nor HTTP. */
import type { Socket } from 'node:net'
import { classify, type Protocol } from './classify.ts'
import { peek } from './peek.ts'
import { connectTunnel, keepTunnel, tellTunnel, type Tunnel } from './tunnel.ts'

const protocolMs = 60 * 60_000

/** Joins the two ends. Ends when they do, or when a new policy would not let it begin. */
export const join = (tunnel: Tunnel, server: Socket, host: string): void => {
  const { engine, tenant, client } = tunnel
  const awake = tenant.awake.get(server)
  const unproven = tunnel.kept?.unproven ?? false
  const connection = { host, neighbour: awake?.uid, read: false, unproven, end: () => end() }
  tenant.relayed++
  tenant.open.add(connection)
  tenant.awake.delete(server)
  const end = engine.relay.join(client, server, () => {
    tenant.relayed--
    tenant.open.delete(connection)
    awake?.release()
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
  keepTunnel(tunnel, { host, read: false })
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
 * The client waits for the server to speak. It may read what comes, but what it sends first is looked at all the same. TLS or HTTP that
 * only begins late, to a server that is silent too, is returned, to be held to its names like any other; after the server has spoken it cannot be.
 */
export const serveServerFirst = async (tunnel: Tunnel): Promise<'tls' | 'http' | 'h2' | undefined> => {
  const { client, engine } = tunnel
  const server = await admitUnread(tunnel)
  if (!server) return undefined
  server.on('error', () => server.destroy())
  const gone = () => client.destroy()
  server.once('close', gone)
  client.once('close', () => server.destroy())
  let spoke = false
  const pass = (piece: Buffer) => {
    spoke = true
    if (client.write(piece)) return
    server.pause()
    client.once('drain', () => server.resume())
  }
  server.on('data', pass)
  const ended = () => client.end()
  server.once('end', ended)
  let protocol = 'more' as Protocol
  await peek(client, engine.clock, protocolMs, bytes => (protocol = classify(bytes)) !== 'more')
  server.off('data', pass)
  server.pause()
  if (client.destroyed || server.destroyed) return undefined
  if (protocol === 'other') return void join(tunnel, server, nameFor(tunnel))
  if (protocol !== 'more' && !spoke) {
    // Connected by address, it may be for a name that it is not admitted under.
    server.off('close', gone).off('end', ended)
    if (tunnel.host === undefined) server.destroy()
    else tunnel.server = server
    return protocol
  }
  if (!client.readableEnded) tellTunnel(tunnel, 'blocked', 'protocol', { host: nameFor(tunnel), protocol: 'tcp' })
  client.destroy()
  return undefined
}
