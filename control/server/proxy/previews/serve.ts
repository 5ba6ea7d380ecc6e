/** Previews as they are served: whoever may see one is led to its port of the sandbox, which wakes for it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { fail } from '../../../../shared/errors.ts'
import { connectionClosed } from '../../../../shared/http/connection-closed.ts'
import { exchangeOf } from '../../../../shared/http/exchange.ts'
import { endRaw } from '../../../../shared/http/raw-answer.ts'
import type { Destination } from '../../../core/channel/connections.ts'
import { errorReply, sendError, shown, type ErrorReply } from '../gateway/errors.ts'
import { splice } from '../gateway/splice.ts'
import type { Held } from '../../../core/machines/reach.ts'
import type { Asked, Turn } from '../../../../shared/lane/turn.ts'
import { previewAddress, type PreviewAddress } from './address.ts'
import { destinationOf, reshaping, type PreviewOptions } from './admit.ts'
import { directly } from './direct.ts'
import { answerRulesOf, cutAfterMs, enter, type Context, type PreviewDeps } from './enter.ts'
import { findPreview, machineOf } from './find.ts'
import { asPage, wantsPage } from './page.ts'

export interface Previews {
  /** Whether there is one at a host name of its own. */
  isServed(host: string): Promise<boolean>
  /** The preview a request is for, or undefined when it is not for one. */
  addressOf(request: Pick<IncomingMessage, 'url' | 'headers'>): PreviewAddress | undefined
  /** Answers a request on its connection; false for one that is for `handle`. */
  take(address: PreviewAddress, turn: Turn): boolean
  handle(address: PreviewAddress, request: IncomingMessage, response: ServerResponse): void
  upgrade(address: PreviewAddress, request: IncomingMessage, socket: Duplex, head: Buffer): void
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

/** A person waits so long for a machine before a page says what is going on. */
const patienceMs = 1_500

/** The machine, awake; throws `unavailable` to a person whom it takes too long for. Programs wait as long as it takes. */
const holdFor = async (
  context: Context,
  { owner, instance }: Awaited<ReturnType<typeof machineOf>>,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Held> => {
  const holding = context.hold(owner, signal, instance)
  if (!wantsPage(request)) return holding
  const late = Promise.withResolvers<'late'>()
  const stop = context.clock.after(patienceMs, () => late.resolve('late'))
  const first = await Promise.race([holding, late.promise]).finally(stop)
  if (first !== 'late') return first
  // Whoever gets it after all has no use for it.
  holding.then(({ release }) => release()).catch(error => context.log.debug('preview.late', { error }))
  throw fail('unavailable', { what: `${owner.kind} "${owner.name}" is coming up`, next: 'try again in a moment' })
}

const run = async (context: Context, address: PreviewAddress, request: IncomingMessage, response: ServerResponse) => {
  const { forwarder, clock } = context
  if (await preflight(context, address, request, response)) return
  const gone = new AbortController()
  const stop = clock.after(cutAfterMs, () => response.destroy())
  response.once('close', () => {
    stop()
    gone.abort(connectionClosed)
  })
  const admitted = await enter(context, address, request, exchangeOf(response))
  const machine = await machineOf(context, admitted.preview)
  const { upstream, release } = await holdFor(context, machine, request, gone.signal)
  try {
    const { target, withheld, added: identity } = admitted
    const to = destinationOf(upstream, admitted.preview, target)
    const reshape = reshaping(admitted, address)
    const answerRules = answerRulesOf(context, address)
    await forwarder.forward({ to, target, answerRules, request, response, withheld, identity, reshape })
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
  const { preview, target, withheld, added: identity } = await enter(context, address, request, exchangeOf(socket))
  const { owner, instance } = await machineOf(context, preview)
  const { upstream, release } = await hold(owner, gone.signal, instance)
  let to: Destination
  try {
    to = destinationOf(upstream, preview, target)
  } catch (error) {
    release()
    throw error
  }
  const again = async () => (await hold(owner, gone.signal)).release
  const answerRules = answerRulesOf(context, address)
  await splice({ to, target, answerRules, request, socket, head, withheld, identity, release, hold: again }, context)
}

/** Logs a failure, and says it as the data plane does. */
const failure = (
  { ids, log, clock, options }: Context,
  error: unknown,
  request: Pick<Asked, 'method' | 'url' | 'headers'>,
): ErrorReply => {
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
  // A page is the preview's own.
  const { url } = request
  const reply = errorReply(known, { headers: options.words, now: clock.now(), request: { url, headers: {} } })
  return wantsPage(request) ? asPage(reply, known) : reply
}

export const createPreviews = (options: PreviewOptions, deps: PreviewDeps): Previews => {
  const context: Context = { ...deps, options }
  const { log } = deps
  return {
    async isServed(host) {
      const address = previewAddress(host, '/', options, deps.domains.match)
      return address !== undefined && (await findPreview(context, address)) !== undefined
    },
    addressOf: ({ url = '/', headers }) => previewAddress(headers.host ?? '', url, options, deps.domains.match),
    take: directly(context, (error, { request }) => failure(context, error, request)),
    handle(address, request, response) {
      run(context, address, request, response)
        .catch((error: unknown) => {
          if (response.headersSent || response.destroyed) response.destroy()
          else sendError(failure(context, error, request), response)
          request.resume()
        })
        .catch((error: unknown) => {
          log.error('preview.broken', { error })
          response.destroy()
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
