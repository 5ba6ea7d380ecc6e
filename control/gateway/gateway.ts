/**
 * The data plane for sandboxes: authenticate → find → hold until up and awake → stream → release.
 * Raw node:http in, undici out; no body is ever buffered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../shared/clock.ts'
import { connectionClosed } from '../../shared/http/connection-closed.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import type { Workspace } from '../store/store.ts'
import { byHost, byPath, type SandboxAddress } from './address.ts'
import type { Answers } from './answers.ts'
import { asGatewayError, errorReply, GatewayError, sendError, type ErrorReply } from './errors.ts'
import type { Forwarder } from './forward.ts'
import type { Resolver } from './resolve.ts'
import { splice } from './splice.ts'

/** Whether the key behind `credential` reaches the workspace; throws `unauthenticated` when it is no valid key. */
export type Admit = (credential: string, workspace: Workspace | undefined) => Promise<boolean>

export interface GatewayDeps {
  readonly resolver: Resolver
  readonly forwarder: Forwarder
  readonly admit: Admit
  /** Answers in the daemon's place; nobody does when left out. */
  readonly answers?: Answers | undefined
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

export interface GatewayOptions {
  readonly regions: readonly string[]
  /** Header word of our own headers (`Svc`). */
  readonly headerWord: string
  /** Lower-case names of headers that may carry our credential, best first. */
  readonly credentialHeaders: readonly string[]
}

export interface Gateway {
  /** The sandbox a request is for, or undefined when it is not for one. */
  addressOf(request: IncomingMessage): SandboxAddress | undefined
  handle(address: SandboxAddress, request: IncomingMessage, response: ServerResponse): void
  upgrade(address: SandboxAddress, request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** The answer to a request that is for nobody. */
  refuse(request: IncomingMessage, response: ServerResponse): void
}

interface Credential {
  readonly value: string
  /** Headers the workload must not see, because one of them carries it. */
  readonly withheld: ReadonlySet<string>
  readonly target: string
}

export const gateway = (options: GatewayOptions, deps: GatewayDeps): Gateway => {
  const { regions, headerWord, credentialHeaders } = options
  const { resolver, forwarder, admit, answers, clock, ids, log } = deps
  const ours = new Set(credentialHeaders.filter(name => name !== 'authorization'))
  const oursAndStandard = new Set(credentialHeaders)

  /** A browser cannot set headers on a WebSocket: the terminal carries its key as `token` in the query. */
  const fromQuery = (target: string): { value: string; target: string } | undefined => {
    const cut = target.indexOf('?')
    if (cut < 0 || !/^\/terminal(\/ws)?$/.test(target.slice(0, cut))) return undefined
    const search = new URLSearchParams(target.slice(cut + 1))
    const value = search.get('token')
    if (!value) return undefined
    search.delete('token')
    return { value, target: `${target.slice(0, cut)}${search.size ? `?${search}` : ''}` }
  }

  const credentialOf = (request: IncomingMessage, target: string): Credential => {
    for (const name of credentialHeaders) {
      const header = request.headers[name]
      const match = typeof header === 'string' ? /^Bearer\s+(\S+)$/i.exec(header) : undefined
      // With a header of our own, `Authorization` belongs to the application behind us and passes.
      if (match)
        return { value: match[1] as string, withheld: name === 'authorization' ? oursAndStandard : ours, target }
    }
    const query = fromQuery(target)
    if (query) return { value: query.value, withheld: ours, target: query.target }
    throw new GatewayError(
      'AUTHENTICATION_REQUIRED',
      `no credential: send ${credentialHeaders.join(' or ')}: Bearer <API key>`,
    )
  }

  const failure = (error: unknown, request: IncomingMessage): ErrorReply => {
    const requestId = ids.uuid()
    const known = asGatewayError(error, requestId)
    const line = {
      requestId,
      method: request.method,
      host: request.headers.host,
      code: known.code,
      reason: known.message,
    }
    if (known.code === 'INTERNAL') log.error('gateway.failed', { ...line, error })
    else log.info('gateway.refused', line)
    return errorReply(known, { header: headerWord, now: clock.now() })
  }

  /** Browsers ask first; the workload's own CORS answer does not know our headers. */
  const preflight = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return false
    response.writeHead(204, {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, DELETE, PATCH, HEAD, OPTIONS',
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '*',
      'access-control-max-age': '600',
    })
    response.end()
    return true
  }

  const admitted = async (address: SandboxAddress, request: IncomingMessage) => {
    const credential = credentialOf(request, address.target)
    // The key is looked at first: whether a sandbox exists is told only to who holds a valid one.
    const found = await resolver.find(address).catch((error: unknown) => error)
    const known = found instanceof Error ? undefined : (found as Awaited<ReturnType<Resolver['find']>>)
    const reached = await admit(credential.value, known?.workspace)
    if (!known) throw found
    if (!reached) throw new GatewayError('FORBIDDEN', `this API key does not reach workspace "${known.workspace.name}"`)
    const { row } = known
    return { row, credential }
  }

  const run = async (address: SandboxAddress, request: IncomingMessage, response: ServerResponse) => {
    const gone = new AbortController()
    response.once('close', () => gone.abort(connectionClosed))
    const { row, credential } = await admitted(address, request)
    const { upstream, release } = await resolver.hold(row.uid, gone.signal, row)
    const { target } = credential
    try {
      if (address.port === undefined && answers?.takes(request.method ?? 'GET', target))
        return await answers.answer({ row, target, upstream, request, response })
      const port = address.port ?? upstream.port
      await forwarder.forward({
        upstream: { host: upstream.host, port },
        target,
        base: address.base,
        request,
        response,
        withheld: credential.withheld,
      })
    } finally {
      release()
    }
  }

  const runUpgrade = async (address: SandboxAddress, request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const gone = new AbortController()
    socket.once('close', () => gone.abort(connectionClosed))
    const { row, credential } = await admitted(address, request)
    const { upstream, release } = await resolver.hold(row.uid, gone.signal, row)
    await splice(
      {
        upstream: { host: upstream.host, port: address.port ?? upstream.port },
        target: credential.target,
        request,
        socket,
        head,
        withheld: credential.withheld,
        release,
        hold: async () => (await resolver.hold(row.uid, gone.signal)).release,
      },
      clock,
    )
  }

  return {
    addressOf(request) {
      const target = request.url ?? '/'
      return byHost(request.headers.host ?? '', target, regions) ?? byPath(target)
    },
    handle(address, request, response) {
      if (preflight(request, response)) return
      run(address, request, response).catch((error: unknown) => {
        if (response.headersSent || response.destroyed) response.destroy()
        else sendError(failure(error, request), response)
        request.resume()
      })
    },
    upgrade(address, request, socket, head) {
      socket.on('error', error => log.debug('gateway.socket', { error }))
      runUpgrade(address, request, socket, head).catch((error: unknown) => {
        const { status, headers, body } = failure(error, request)
        const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`)
        socket.end(`HTTP/1.1 ${status} \r\n${lines.join('\r\n')}\r\n\r\n${body}`)
      })
    },
    refuse(request, response) {
      const error = new GatewayError(
        'ROUTE_NOT_FOUND',
        `${request.headers.host ?? ''}${request.url ?? ''} names no workload`,
      )
      sendError(failure(error, request), response)
      request.resume()
    },
  }
}
