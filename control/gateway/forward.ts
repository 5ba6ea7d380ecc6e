/** One request to a workload and its answer back, byte for byte: nothing is buffered, back-pressure is kept both ways. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Pool, type Dispatcher } from 'undici'
import { fail, messageOf, type AppError } from '../../shared/errors.ts'
import type { Address } from '../store/store.ts'
import { requestHeaders, responseHeaders } from './headers.ts'

export interface Forwarder {
  /** Resolves when the answer is delivered, rejects when the workload gives none; after its head left, cuts instead. */
  forward(options: Forwarding): Promise<void>
  /** Drops the connections to an upstream that is no more. */
  forget(host: string): void
  close(): Promise<void>
}

export interface Forwarding {
  readonly upstream: Address
  readonly target: string
  /** What the client's address has before `target`. */
  readonly base: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Lower-case names of headers the workload must not see. */
  readonly withheld: ReadonlySet<string>
}

const bodiless = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] === undefined && (request.headers['content-length'] ?? '0') === '0'

/** A reason phrase that may be sent on; workloads write there what they like. */
const reasonPhrase = (text: string | undefined): string => (text ?? '').replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')

const nothing = Buffer.alloc(0)

/** The workload gave no answer that could be passed on. */
const upstreamFailed = (error: unknown, port: number): AppError => {
  const reason = refused(error)
    ? `nothing answers on port ${port} of the sandbox`
    : `port ${port} of the sandbox gives no answer that is HTTP: ${messageOf(error)}`
  return fail('upstream_failed', { reason }, error)
}

const refused = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'].includes(
    String(error.code),
  )

export const forwarder = (): Forwarder => {
  const pools = new Map<string, Pool>()

  const poolOf = ({ host, port }: Address): Pool => {
    const origin = `http://${host}:${port}`
    let pool = pools.get(origin)
    if (!pool) {
      // No deadlines: log streams, exec streams and event streams may be silent for as long as they like.
      pool = new Pool(origin, {
        connections: 256,
        pipelining: 1,
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: 30_000,
        connect: { timeout: 5_000 },
      })
      pools.set(origin, pool)
    }
    return pool
  }

  const once = ({ upstream, target, base, request, response, withheld }: Forwarding): Promise<void> =>
    new Promise((resolve, reject) => {
      let controller: Dispatcher.DispatchController | undefined
      let started = false
      const clientGone = () => {
        if (!response.writableFinished) controller?.abort(new Error('the client is gone'))
        resolve()
      }
      response.once('close', clientGone)
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart(given) {
          controller = given
          if (response.destroyed) given.abort(new Error('the client is gone'))
        },
        onResponseStart(given, status, _headers, statusText) {
          if (status < 200) return
          started = true
          response.on('drain', () => given.resume())
          response.writeHead(
            status,
            reasonPhrase(statusText),
            responseHeaders((given.rawHeaders ?? []) as (Buffer | string)[], base),
          )
          // Out at once. `flushHeaders` would write bytes beyond ASCII a second time in UTF-8.
          response.write(nothing)
        },
        onResponseData(given, piece) {
          if (!response.write(piece)) given.pause()
        },
        onResponseEnd() {
          response.end()
        },
        onResponseError(_given, error) {
          response.off('close', clientGone)
          if (!started && !response.destroyed) return reject(error)
          // The head is out: only a cut connection still says that the body is not whole.
          response.destroy()
          resolve()
        },
      }
      poolOf(upstream).dispatch(
        {
          path: target,
          method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
          headers: requestHeaders(request.rawHeaders, {
            withheld,
            remote: request.socket.remoteAddress ?? '',
            host: request.headers.host ?? '',
          }),
          body: bodiless(request) ? null : request,
          // A stream that stays open for ever must not block others behind it.
          blocking: false,
        },
        handler,
      )
    })

  return {
    async forward(options) {
      const { upstream, request } = options
      try {
        await once(options)
      } catch (error) {
        // A kept connection that the workload closed at the same moment: nothing of the request was answered.
        const again = bodiless(request) && (request.method === 'GET' || request.method === 'HEAD') && refused(error)
        try {
          if (!again) throw error
          await once(options)
        } catch (last) {
          throw upstreamFailed(last, upstream.port)
        }
      }
    },
    forget(host) {
      for (const [origin, pool] of pools)
        if (origin.startsWith(`http://${host}:`)) {
          pools.delete(origin)
          pool.destroy().catch(() => {
            // Connections to a machine that is gone: nobody waits for how they end.
          })
        }
    },
    async close() {
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
      pools.clear()
    },
  }
}
