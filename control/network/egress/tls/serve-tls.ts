/**
 * TLS from a sandbox. The name in its hello is held to the destination; then it is passed on unread, or opened where methods, paths
 * or routing rules have a say.
 *
 * No name in the hello: the destination's is taken, and the connection is opened if the policy has lists, so that the Host header can
 * be held to it. Encrypted Client Hello may hide another name: such a connection is opened too where there are lists. Clients that
 * only pretend (GREASE) go on with our certificate; those that mean it break off.
 */
import type { Verdict } from '../../../../shared/policy/decide.ts'
import { peek } from '../peek.ts'
import { connectTunnel, isForPackages, keepTunnel, tellTunnel, type Tunnel } from '../tunnel.ts'
import { join } from '../unread.ts'
import { alert } from './alert.ts'
import { maxHello, parseClientHello, type ClientHello, type Parsed } from './client-hello.ts'
import { answerInTls, openLater, openTls, takesHttp1 } from './open-tls.ts'
import type { Reason } from '../http/answers.ts'

const helloMs = 10_000

const readHello = async ({ client, engine }: Tunnel): Promise<Parsed> => {
  let parsed: Parsed = { kind: 'more' }
  await peek(client, engine.clock, helloMs, bytes => {
    parsed = bytes.length > 2 * maxHello ? { kind: 'bad', problem: 'it is too long' } : parseClientHello(bytes)
    return parsed.kind !== 'more'
  })
  return parsed
}

interface Refusal {
  readonly reason: Reason
  readonly host: string
  readonly rule?: string | undefined
  readonly detail?: string | undefined
}

/** Refuses in a form the client can show: a page with our certificate where it named a host, else an alert. */
const refuse = (tunnel: Tunnel, hello: ClientHello, refusal: Refusal): void => {
  const { client } = tunnel
  const { reason, host, rule, detail } = refusal
  tellTunnel(tunnel, 'blocked', reason, { host, rule, protocol: 'tls' })
  tunnel.server?.destroy()
  if (hello.serverName !== undefined) return answerInTls(tunnel, hello, hello.serverName, reason, detail)
  client.end(alert('accessDenied'))
}

/** The name that the connection is judged under, or why its names do not agree. */
const nameOf = ({ host, address }: Tunnel, { serverName }: ClientHello): string | { reason: Reason } => {
  if (host === undefined) return serverName ?? (address as string)
  return serverName === undefined || serverName === host ? host : { reason: 'name_mismatch' }
}

const tellServed = (tunnel: Tunnel, host: string, verdict: Verdict, protocol: 'https' | 'tls'): void =>
  tellTunnel(tunnel, verdict.allowed ? 'allowed' : 'would_block', verdict.reason, {
    host,
    rule: verdict.rule,
    protocol,
  })

const serveHello = async (tunnel: Tunnel, hello: ClientHello): Promise<void> => {
  const { tenant, client } = tunnel
  const { policy } = tenant
  const host = nameOf(tunnel, hello)
  if (typeof host !== 'string') return refuse(tunnel, hello, { reason: host.reason, host: hello.serverName as string })
  const verdict = policy.forHost(host)
  const hidden = hello.encrypted || (hello.serverName === undefined && tunnel.host !== undefined)
  const opened = verdict.needsRequest || (policy.restricts && hidden)
  const unproven = !opened && !policy.restricts && (hidden || tunnel.host === undefined)
  keepTunnel(tunnel, { host, read: opened, unproven })
  // Packages may be here already: it is connected to when one is not.
  if (verdict.reason !== 'bypass' && takesHttp1(hello) && (await isForPackages(tunnel, host))) {
    tellServed(tunnel, host, verdict, 'https')
    return openLater(tunnel, hello, host)
  }
  const connected = await connectTunnel(tunnel, host)
  if (!connected.ok)
    return refuse(tunnel, hello, { reason: connected.reason, host, rule: connected.rule, detail: connected.detail })
  if (client.destroyed) return void connected.socket.destroy()
  tellServed(tunnel, host, verdict, opened ? 'https' : 'tls')
  if (policy.source.mode === 'record' && !opened) tenant.record.add({ host })
  if (opened) return openTls(tunnel, hello, host, connected.socket)
  join(tunnel, connected.socket, host)
}

export const serveTls = async (tunnel: Tunnel): Promise<void> => {
  const parsed = await readHello(tunnel)
  if (parsed.kind === 'hello') return serveHello(tunnel, parsed.hello)
  tellTunnel(tunnel, 'blocked', 'protocol', { protocol: 'tls' })
  tunnel.server?.destroy()
  tunnel.client.end(alert('decodeError'))
}
