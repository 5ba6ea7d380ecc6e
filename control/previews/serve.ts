/** Previews as they are served: whoever may see one is led to its port of the sandbox, which wakes for it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { fail } from '../../shared/errors.ts'
import { connectionClosed } from '../../shared/http/connection-closed.ts'
import { endRaw } from '../../shared/http/raw-answer.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import type { Connections, Destination } from '../channel/connections.ts'
import { errorReply, sendError, shown, type ErrorReply } from '../gateway/errors.ts'
import type { Forwarder } from '../gateway/forward.ts'
import { splice } from '../gateway/splice.ts'
import type { Reach } from '../instances/reach.ts'
import type { Address } from '../store/store.ts'
import { previewAddress, type PreviewAddress, type PreviewNames } from './address.ts'
import { findPreview, machineOf, needToken, type FindDeps, type Preview } from './find.ts'
import { asPage, wantsPage } from './page.ts'
import { readToken, type TokenNames } from './token.ts'

export interface PreviewDeps extends FindDeps {
  readonly hold: Reach['hold']
  readonly forwarder: Forwarder
  readonly connections: Connections
  readonly ids: Ids
  readonly log: Log
}

export interface PreviewOptions extends PreviewNames {
  readonly tokens: TokenNames
  /** Lower-case names of headers that no application gets from a client: credentials, and what only the gateway says. */
  readonly withheld: readonly string[]
  /** The word in our headers: `Svc`. */
  readonly header: string
  /** The box is reached by TLS. */
  readonly isSecure: boolean
}

export interface Previews {
  /** The preview a request is for, or undefined when it is not for one. */
  addressOf(request: IncomingMessage): PreviewAddress | undefined
  handle(address: PreviewAddress, request: IncomingMessage, response: ServerResponse): void
  upgrade(address: PreviewAddress, request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/** A connection lives at most so long. */
const cutAfterMs = 15 * 60_000

/** Stands for the sandbox's own API. */
const apiPort = 443

/** The page runs, but as nobody: what is on the origin of the API must not act as a page of it. */
const opaque = 'sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads'

interface Admitted {
  readonly preview: Preview
  readonly target: string
  readonly withheld: ReadonlySet<string>
  /** Headers for the application, names and values. */
  readonly added: readonly string[]
  readonly cookie: string | undefined
}

interface Context extends PreviewDeps {
  readonly options: PreviewOptions
}

const cookieFor = ({ options }: Context, token: string, expiresAt: number | null): string => {
  const { tokens, isSecure } = options
  const ends = expiresAt === null ? '' : `; Expires=${new Date(expiresAt).toUTCString()}`
  return `${tokens.cookie}=${token}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}${ends}`
}

/** Throws `route_not_found`, `unauthenticated`. */
const admit = async (context: Context, address: PreviewAddress, request: IncomingMessage): Promise<Admitted> => {
  const { options } = context
  const preview = await findPreview(context, address)
  const path = `${request.headers.host ?? ''}${address.base}`
  if (!preview) throw fail('route_not_found', { method: request.method ?? 'GET', path })
  // A cookie of the API's origin is nobody's here.
  const names = { ...options.tokens, cookies: !address.isShared }
  const { token, fromQuery, target, cookies } = readToken(request, address.target, names)
  const expiresAt = preview.isPublic ? null : await needToken(context, preview, token)
  const extra = Object.entries(preview.requestHeaders).map(([name, value]) => [name.toLowerCase(), value] as const)
  const kept = cookies ? ['cookie', cookies] : []
  return {
    preview,
    target,
    withheld: new Set([...options.withheld, ...options.tokens.headers, 'cookie', ...extra.map(([name]) => name)]),
    added: [...kept, ...extra.flat()],
    cookie:
      fromQuery && token && !preview.isPublic && !address.isShared ? cookieFor(context, token, expiresAt) : undefined,
  }
}

/**
 * The port that is meant. The API of a sandbox is for holders of a token only, and is spoken to as somebody inside of the
 * sandbox would: its owner's routes (tunnel, upgrade, drives, environment) refuse that. Throws `forbidden`.
 */
const destinationOf = (address: Address, { port, isPublic }: Preview): Destination => {
  if (port === address.channel?.port)
    throw fail('invalid_argument', { field: 'port', reason: `${port} of a sandbox is the host's own` })
  if (port !== apiPort && port !== address.port) return { address, port }
  if (isPublic) throw fail('forbidden', { reason: 'a public preview does not lead to the API of its sandbox' })
  // Without a channel the daemon could not tell who asks.
  if (!address.channel) throw fail('forbidden', { reason: 'the machine of this sandbox has to be upgraded first' })
  return { address, port: address.port }
}

/** The application's headers with what the preview says in their place. */
const reshaping = ({ preview, cookie }: Admitted, { isShared }: PreviewAddress) => {
  const own = Object.entries(preview.responseHeaders)
  const dropped = new Set([...own.map(([name]) => name.toLowerCase()), ...(isShared ? ['set-cookie'] : [])])
  const added = [
    ...own.flat(),
    ...(cookie ? ['set-cookie', cookie] : []),
    ...(isShared ? ['content-security-policy', opaque] : []),
  ]
  return (headers: readonly string[]): string[] => {
    const kept: string[] = []
    for (let at = 0; at < headers.length; at += 2)
      if (!dropped.has((headers[at] as string).toLowerCase()))
        kept.push(headers[at] as string, headers[at + 1] as string)
    return [...kept, ...added]
  }
}

/** A browser asks first, without a token: what the preview says of origins is the answer. */
const preflight = async (
  context: Context,
  address: PreviewAddress,
  request: IncomingMessage,
  response: ServerResponse,
) => {
  if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return false
  const preview = await findPreview(context, address)
  const names = Object.keys(preview?.responseHeaders ?? {}).map(name => name.toLowerCase())
  if (!preview || !names.some(name => name.startsWith('access-control-'))) return false
  response.writeHead(204, preview.responseHeaders)
  response.end()
  return true
}

const run = async (context: Context, address: PreviewAddress, request: IncomingMessage, response: ServerResponse) => {
  const { hold, forwarder, clock } = context
  if (await preflight(context, address, request, response)) return
  const gone = new AbortController()
  const stop = clock.after(cutAfterMs, () => response.destroy())
  response.once('close', () => {
    stop()
    gone.abort(connectionClosed)
  })
  const admitted = await admit(context, address, request)
  const { owner, instance } = await machineOf(context, admitted.preview)
  const { upstream, release } = await hold(owner, gone.signal, instance)
  try {
    const { target, withheld, added: identity } = admitted
    const to = destinationOf(upstream, admitted.preview)
    const reshape = reshaping(admitted, address)
    await forwarder.forward({ to, target, base: address.base, request, response, withheld, identity, reshape })
  } finally {
    release()
  }
}

const runUpgrade = async (
  context: Context,
  address: PreviewAddress,
  request: IncomingMessage,
  [socket, head]: readonly [Duplex, Buffer],
) => {
  const { hold, clock } = context
  const gone = new AbortController()
  const stop = clock.after(cutAfterMs, () => socket.destroy())
  socket.once('close', () => {
    stop()
    gone.abort(connectionClosed)
  })
  const { preview, target, withheld, added: identity } = await admit(context, address, request)
  const { owner, instance } = await machineOf(context, preview)
  const { upstream, release } = await hold(owner, gone.signal, instance)
  let to: Destination
  try {
    to = destinationOf(upstream, preview)
  } catch (error) {
    release()
    throw error
  }
  const again = async () => (await hold(owner, gone.signal)).release
  await splice({ to, target, request, socket, head, withheld, identity, release, hold: again }, context)
}

/** Logs a failure, and says it as the data plane does. */
const failure = ({ ids, log, clock, options }: Context, error: unknown, request: IncomingMessage): ErrorReply => {
  const requestId = ids.uuid()
  const known = shown(error, requestId)
  const line = {
    requestId,
    method: request.method,
    host: request.headers.host,
    code: known.code,
    reason: known.message,
  }
  if (known.code === 'internal') log.error('preview.failed', { ...line, error })
  else log.info('preview.refused', line)
  const reply = errorReply(known, { header: options.header, now: clock.now() })
  return wantsPage(request) ? asPage(reply) : reply
}

export const createPreviews = (options: PreviewOptions, deps: PreviewDeps): Previews => {
  const context: Context = { ...deps, options }
  const { log } = deps
  return {
    addressOf: ({ url = '/', headers }) => previewAddress(headers.host ?? '', url, options),
    handle(address, request, response) {
      run(context, address, request, response).catch((error: unknown) => {
        if (response.headersSent || response.destroyed) response.destroy()
        else sendError(failure(context, error, request), response)
        request.resume()
      })
    },
    upgrade(address, request, socket, head) {
      socket.on('error', error => log.debug('preview.socket', { error }))
      runUpgrade(context, address, request, [socket, head]).catch((error: unknown) => {
        endRaw(socket, failure(context, error, request))
      })
    },
  }
}
