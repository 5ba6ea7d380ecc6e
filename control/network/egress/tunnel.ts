/**
 * A TCP connection that a sandbox wants to some host and port: by CONNECT, or because the network brought it here. What it speaks is
 * seen from its first bytes, and that decides how it is held to the policy.
 */
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { admit, admitAddress } from './admit.ts'
import { classify, type Protocol } from './classify.ts'
import type { Engine } from './engine.ts'
import type { EgressEvent, Said } from './events/events.ts'
import { tellCanariesIn } from './events/named-canaries.ts'
import type { Reason } from './http/answers.ts'
import { connectPlain, type Connected } from './http/origin.ts'
import { serveHttp, serveHttp2 } from './http/serve-tunnel.ts'
import { peek } from './peek.ts'
import type { Tenant } from './tenant.ts'
import type { OpenConnection } from './under-way.ts'
import { serveTls } from './tls/serve-tls.ts'
import { serveServerFirst, serveUnread } from './unread.ts'

export interface Tunnel {
  readonly engine: Engine
  readonly tenant: Tenant
  readonly client: Socket
  /** Canonical name, or undefined where only the address is known. */
  readonly host: string | undefined
  /** The address the sandbox has chosen; undefined where it asked by name. */
  readonly address: string | undefined
  readonly port: number
  readonly requestId: string
  readonly said: Said | undefined
  /** Connected already, for a host that was admitted by name. */
  server: Socket | undefined
  /** What is known of it, for when a new policy comes. */
  kept?: OpenConnection
}

const forget = ({ tenant, kept }: Tunnel): void => void (kept && tenant.open.delete(kept))

/** From now on this is known of it; `stream` is what ends, where that is not the connection itself. */
export const keepTunnel = (tunnel: Tunnel, open: Omit<OpenConnection, 'end'>, stream: Duplex = tunnel.client): void => {
  forget(tunnel)
  if (stream.destroyed) return
  tunnel.kept = { ...open, end: () => stream.destroy() }
  tunnel.tenant.open.add(tunnel.kept)
  if (stream !== tunnel.client) stream.once('close', () => forget(tunnel))
}

/** What a CONNECT is answered before anything of the tunnel is seen. */
export interface Opening {
  accept(): void
  refuse(reason: Reason): void
}

/** A client that waits for the server to speak first says nothing for so long. */
const silentMs = 700
const firstBytesMs = 15_000

/** One event about the connection as a whole. */
export const tellTunnel = (
  tunnel: Tunnel,
  verdict: EgressEvent['verdict'],
  reason: string,
  more: { host?: string | undefined; rule?: string | undefined; protocol: EgressEvent['protocol'] },
): void => {
  const { tenant, host, address, port, requestId, said } = tunnel
  tenant.events.add({
    kind: 'connection',
    verdict,
    reason,
    rule: more.rule,
    requestId,
    host: more.host ?? host ?? address ?? '',
    port,
    address,
    protocol: more.protocol,
    said,
  })
  // What is opened is searched with its requests.
  if (verdict !== 'blocked' && more.protocol !== 'https')
    tellCanariesIn(tenant, more.host ?? host ?? '', { requestId, port })
}

/** The server's side of the tunnel under that name: the one that is there already, or a new one. */
export const connectTunnel = async (tunnel: Tunnel, host: string): Promise<Connected> => {
  const { engine, tenant, address, port, server } = tunnel
  if (server) {
    tunnel.server = undefined
    return { ok: true, socket: server }
  }
  return connectPlain(engine, tenant, { host, address, port })
}

/** To a registry whose packages are kept, and let through: it need not be connected to yet. */
export const isForPackages = async ({ engine, tenant, port, address }: Tunnel, host: string): Promise<boolean> =>
  port === 443 &&
  engine.packages?.covers(host) !== undefined &&
  tenant.sourceAddress === undefined &&
  tenant.neighbour(host) === undefined &&
  (await admit(engine.resolver, tenant, { host, address, named: true })).ok

/** Connects by name before the tunnel is accepted, so that a failure is an answer and not a lost connection. */
const open = async (tunnel: Tunnel): Promise<{ reason: Reason; rule?: string | undefined } | undefined> => {
  const { engine, tenant, host, address } = tunnel
  if (host === undefined) return admitAddress(engine.fence, tenant, address as string)
  keepTunnel(tunnel, { host, read: true })
  if (await isForPackages(tunnel, host)) return undefined
  const connected = await connectTunnel(tunnel, host)
  if (!connected.ok) return connected
  const { socket } = connected
  tunnel.server = socket
  socket.on('error', () => socket.destroy())
  tunnel.client.once('close', () => socket.destroy())
  return undefined
}

const serve: Readonly<Record<Exclude<Protocol, 'more'>, (tunnel: Tunnel) => Promise<void> | void>> = {
  tls: serveTls,
  http: serveHttp,
  h2: serveHttp2,
  other: serveUnread,
}

/** Who comes to these ports speaks first, however long a busy box takes for it; and so does who could not pass otherwise. */
const speaksFirst = ({ tenant, host, address, port }: Tunnel): boolean =>
  port === 80 || port === 443 || tenant.policy.forHost(host ?? (address as string)).needsRequest

/** Waits for the first bytes and hands the connection to whom they concern. */
const serveFirstBytes = async (tunnel: Tunnel): Promise<void> => {
  const { client, engine } = tunnel
  let protocol: Protocol = 'more'
  const enough = (bytes: Buffer) => (protocol = classify(bytes)) !== 'more'
  let seen = await peek(client, engine.clock, silentMs, enough)
  if (client.destroyed) return
  if (!seen && client.readableLength === 0 && !client.readableEnded && !speaksFirst(tunnel)) {
    const late = await serveServerFirst(tunnel)
    return late && serve[late](tunnel)
  }
  seen ??= await peek(client, engine.clock, firstBytesMs, enough)
  if (!seen) return void client.destroy()
  return serve[protocol as Exclude<Protocol, 'more'>](tunnel)
}

/** Takes a connection from its first byte to its last. */
export const serveTunnel = async (tunnel: Tunnel, opening: Opening): Promise<void> => {
  const { client } = tunnel
  client.on('error', () => client.destroy())
  client.once('close', () => forget(tunnel))
  const refused = await open(tunnel)
  if (refused) {
    tellTunnel(tunnel, 'blocked', refused.reason, { protocol: 'tcp', rule: refused.rule })
    return opening.refuse(refused.reason)
  }
  if (client.destroyed) return void tunnel.server?.destroy()
  opening.accept()
  await serveFirstBytes(tunnel)
}
