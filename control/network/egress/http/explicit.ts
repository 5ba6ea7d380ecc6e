/** The explicit proxy: requests in absolute form, and CONNECT. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isAddress, parseAuthority } from '../../../../shared/policy/host.ts'
import type { Engine } from '../engine.ts'
import { readSaid } from '../events/said.ts'
import type { Tenant } from '../tenant.ts'
import { serveTunnel } from '../tunnel.ts'
import { answerBytes, answerFor, type Reason } from './answers.ts'
import { answer, forward } from './forward.ts'
import { connectPlain, type Origin } from './origin.ts'
import { parseAbsolute } from './target.ts'

const phrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  405: 'Method Not Allowed',
  421: 'Misdirected Request',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

/** The origin of a plain request to the proxy: its name, or the address it has instead of one. */
export const explicitOrigin = (
  engine: Engine,
  tenant: Tenant,
  where: { host: string; port: number },
  client: Socket,
): Origin => ({
  tenant,
  scheme: 'http',
  host: where.host,
  address: undefined,
  port: where.port,
  pool: tenant.pool,
  connect: host => connectPlain(engine, tenant, { host, address: undefined, port: where.port }),
  said: engine.askers.of(client),
})

/** A request to the proxy itself is none; one for another scheme needs CONNECT. */
export const serveProxied = (engine: Engine, req: IncomingMessage, res: ServerResponse): Promise<void> | void => {
  const tenant = engine.tenants.of(req.socket)
  if (!tenant) return void req.socket.destroy()
  const where = parseAbsolute(req.url as string)
  if (where?.scheme !== 'http')
    return answer(engine, res, 'bad_request', engine.requestId(), 'send an http:// address here, or CONNECT')
  return forward(engine, explicitOrigin(engine, tenant, where, req.socket), where.target, req, res)
}

const header = (req: IncomingMessage, names: ReadonlySet<string>): string | undefined => {
  for (const name of names) {
    const value = req.headers[name]
    if (typeof value === 'string') return value
  }
  return undefined
}

/** Answers in place of a tunnel and ends the connection. */
const refuseConnect = (engine: Engine, socket: Socket, reason: Reason, requestId: string): void => {
  const made = answerFor(reason, requestId, engine.names)
  socket.end(answerBytes(made, phrases[made.status] ?? 'Error'))
}

export const serveConnect = async (
  engine: Engine,
  req: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> => {
  client.on('error', () => client.destroy())
  const tenant = engine.tenants.of(client)
  if (!tenant) return void client.destroy()
  const requestId = engine.requestId()
  const where = /:\d+$/.test(req.url as string) ? parseAuthority(req.url as string, 443) : undefined
  if (!where) return refuseConnect(engine, client, 'bad_request', requestId)
  const named = req.headers.host === undefined ? where : parseAuthority(req.headers.host, where.port)
  if (named?.host !== where.host) return refuseConnect(engine, client, 'host_mismatch', requestId)
  if (head.length > 0) client.unshift(head)
  const byAddress = isAddress(where.host)
  await serveTunnel(
    {
      engine,
      tenant,
      client,
      host: byAddress ? undefined : where.host,
      address: byAddress ? where.host : undefined,
      port: where.port,
      requestId,
      said: engine.askers.of(client) ?? readSaid(header(req, engine.names.process), tenant.mask),
      server: undefined,
    },
    {
      accept: () => void client.write('HTTP/1.1 200 Connection established\r\n\r\n'),
      refuse: reason => refuseConnect(engine, client, reason, requestId),
    },
  )
}
