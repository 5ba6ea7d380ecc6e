/**
 * The data plane of workloads: authenticate → find → hold until up and awake → stream → release.
 * Raw node:http in, undici out; no body is ever buffered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import { endRaw } from '../../../../shared/http/raw-answer.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { WireNames } from '../../../../shared/wire-names.ts'
import type { Keys } from '../../../core/access/keys.ts'
import type { Standing } from '../../../core/access/standing.ts'
import type { Reach } from '../../../core/machines/reach.ts'
import type { Connections } from '../../../core/channel/connections.ts'
import type { Turn } from '../../../../shared/lane/turn.ts'
import type { Sealer } from '../../../core/secrets/secrets.ts'
import type { Store } from '../../../core/store/store.ts'
import { byHost, byPath, type AddressForm, type WorkloadAddress } from './address.ts'
import { admit, type Admitted } from './admit.ts'
import type { Answers } from './answers.ts'
import { credentialReader, isTerminal } from './credential.ts'
import type { DirectContext } from './direct/again.ts'
import { directly } from './direct/direct.ts'
import type { Documenting } from './documentation.ts'
import { errorReply, sendError, shown, type ErrorReply } from './errors.ts'
import type { Forwarder } from './forward.ts'
import type { Handlers } from './handled.ts'
import { identityHeaders, identityWriter } from './identity.ts'
import { loginPath, type Logins } from './logins.ts'
import { run, runUpgrade } from './passage.ts'
import type { Revive } from './unsent.ts'
import type { Records, Resolve } from './resolve.ts'

export interface GatewayDeps extends Documenting {
  readonly resolve: Resolve
  readonly hold: Reach['hold']
  readonly holdNow: Reach['holdNow']
  readonly revive: Revive
  readonly store: Pick<Store, 'moment'>
  readonly forwarder: Forwarder
  readonly connections: Connections
  readonly keys: Keys
  readonly logins: Logins
  readonly records: Records
  readonly sealer: Sealer
  /** Told of each connection that has brought a valid credential. */
  readonly admitted: (connection: object) => void
  readonly standing: Standing
  /** Answers in the daemon's place; nobody does when left out. */
  readonly answers?: Answers | undefined
  /** By kind: what answers in place of machines. */
  readonly handlers?: Handlers | undefined
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Told of the status of each answer. */
  readonly answered: (status: number) => void
}

export interface GatewayOptions {
  /** How workloads are addressed, a form for each kind. */
  readonly forms: readonly AddressForm[]
  readonly regions: readonly string[]
  /** Spellings of our own headers, preferred first. */
  readonly names: WireNames
  /** Lower-case names of headers that may carry our credential, best first. */
  readonly credentialHeaders: readonly string[]
}

export interface Gateway {
  /** The workload a request is for, or undefined when it is not for one. */
  addressOf(request: Pick<IncomingMessage, 'url' | 'headers'>): WorkloadAddress | undefined
  /** What a key opens at an address. Throws what a request with it would be refused with. */
  admit(address: WorkloadAddress, key: string): Promise<Admitted>
  /** Answers a request on its connection; false for one that is for `handle`. */
  take(address: WorkloadAddress, turn: Turn): boolean
  handle(address: WorkloadAddress, request: IncomingMessage, response: ServerResponse): void
  upgrade(address: WorkloadAddress, request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** The answer to a request that is for nobody. */
  refuse(request: IncomingMessage, response: ServerResponse): void
}

type Said = Pick<IncomingMessage, 'method' | 'url' | 'headers'>

/** Where a browser logs in for what it asked for: the address goes along, without what was wrong in it. */
const loginFor = ({ apiOrigin }: GatewayDeps, address: WorkloadAddress | undefined, request: Said) => {
  if (!address || (address.port === undefined && !isTerminal(address))) return undefined
  const { host = '' } = request.headers
  const url = request.url ?? '/'
  const path = isTerminal(address) ? (url.split('?', 1)[0] as string) : url
  return `${apiOrigin(host)}${loginPath}?to=${encodeURIComponent(address.form === 'host' ? `//${host}${path}` : path)}`
}

/** Logs a failure, and says it as the data plane does. */
const failure = (
  options: GatewayOptions,
  deps: GatewayDeps,
  error: unknown,
  { request, address }: { readonly request: Said; readonly address?: WorkloadAddress },
): ErrorReply => {
  const { clock, ids, log } = deps
  const requestId = ids.uuid()
  const known = shown(error, requestId)
  const { method } = request
  const line = { requestId, method, host: request.headers.host, code: known.code, reason: known.message }
  if (known.code === 'internal') log.error('gateway.failed', { ...line, error })
  else log.info('gateway.refused', line)
  const headers = options.names.list.map(({ header }) => header)
  return errorReply(known, { headers, now: clock.now(), request, login: loginFor(deps, address, request) })
}

/** Browsers ask first; the workload's own CORS answer does not know our headers. */
export const preflight = (request: IncomingMessage, response: ServerResponse): boolean => {
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

export const gateway = (options: GatewayOptions, deps: GatewayDeps): Gateway => {
  const { log } = deps
  const { names, credentialHeaders, forms } = options
  const scopes = new Map(forms.map(({ kind, scope }) => [kind, scope]))
  const handlers: Handlers = deps.handlers ?? new Map()
  const context: DirectContext = {
    ...deps,
    handlers,
    credentialHeaders,
    credentialOf: credentialReader({
      names: credentialHeaders,
      never: identityHeaders(names),
      sealer: deps.sealer,
      now: () => deps.clock.now(),
    }),
    identityOf: identityWriter(names),
    ourHeaders: names.header(''),
    scopeOf: kind => scopes.get(kind) as string,
  }
  const take = directly(context, {
    answered: deps.answered,
    failure: (error, { request }, address) => failure(options, deps, error, { request, address }),
  })
  return {
    take: (address, turn) => !handlers.has(address.kind) && take(address, turn),
    admit: (address, key) => admit(context, address, { key }),
    addressOf({ url: target = '/', headers }) {
      return byHost(headers.host ?? '', target, options) ?? byPath(target, options.forms)
    },
    handle(address, request, response) {
      response.once('close', () => deps.answered(response.statusCode))
      if (preflight(request, response)) return
      run(context, address, request, response)
        .catch((error: unknown) => {
          if (response.headersSent || response.destroyed) response.destroy()
          else sendError(failure(options, deps, error, { request, address }), response)
          request.resume()
        })
        .catch((error: unknown) => {
          log.error('gateway.broken', { error })
          response.destroy()
        })
    },
    upgrade(address, request, socket, head) {
      socket.on('error', error => log.debug('gateway.socket', { error }))
      runUpgrade(context, address, request, socket, head).catch((error: unknown) => {
        endRaw(socket, failure(options, deps, error, { request, address }))
      })
    },
    refuse(request, response) {
      // A key may be in the query of a wrong address, and this is logged.
      const path = `${request.headers.host ?? ''}${request.url ?? ''}`.split('?', 1)[0] as string
      const error = fail('route_not_found', { method: request.method ?? 'GET', path })
      sendError(failure(options, deps, error, { request }), response)
      request.resume()
    },
  }
}
