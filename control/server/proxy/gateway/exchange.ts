/** One request sent on to a workload, and its answer as it comes: nothing is buffered, back-pressure is kept both ways. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { cameByTls, requestHeaders, responseHeaders, type AnswerRules, type Withheld } from './headers.ts'

export interface Exchange {
  readonly target: string
  readonly answerRules: AnswerRules
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly withheld: Withheld
  /** Headers that say who calls: names and values. */
  readonly identity: readonly string[]
  /** What becomes of the answer's headers: names and values. */
  readonly reshape?: (headers: readonly string[]) => readonly string[]
  /** Ends it when aborted: there is no answer then, or it is cut. */
  readonly signal?: AbortSignal
}

/** Whether the request has no body: it can be sent twice. */
export const isBodiless = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'

/** A reason phrase that may be sent on; workloads write there what they like. */
const reasonPhrase = (text: string | undefined): string => (text ?? '').replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')

const nothing = Buffer.alloc(0)

/** Answers up to so many bytes are written at once with their head, as one text: half of what two writes cost. */
const smallBytes = 16 * 1024

/** Writes a body; what comes before the end of the turn in which the head came goes out together with it. */
const bodyOf = (response: ServerResponse) => {
  let first: Buffer | undefined
  let isHeld = true
  const flush = (): void => {
    if (!isHeld) return
    isHeld = false
    if (response.destroyed) return
    // Out at once. `flushHeaders` would write bytes beyond ASCII a second time in UTF-8.
    response.write(first ?? nothing)
  }
  process.nextTick(flush)
  return {
    /** Whether more may be written at once. */
    write(piece: Buffer): boolean {
      if (isHeld && !first && piece.length <= smallBytes) {
        first = piece
        return true
      }
      flush()
      return response.write(piece)
    },
    end(): void {
      if (!isHeld) return void response.end()
      isHeld = false
      if (first) response.end(first.toString('latin1'), 'latin1')
      else response.end()
    },
  }
}

interface Ending {
  /** The answer is out, or nobody waits for it any more. */
  done(): void
  /** There was none. */
  failed(error: Error): void
}

/** Writes the workload's answer to the client. */
const answering = (
  { response, answerRules, reshape = headers => headers, signal }: Exchange,
  { done, failed }: Ending,
): Dispatcher.DispatchHandler => {
  let controller: Dispatcher.DispatchController | undefined
  let body: ReturnType<typeof bodyOf> | undefined
  const clientGone = () => {
    if (!response.writableFinished) controller?.abort(new Error('the client is gone'))
    done()
  }
  response.once('close', clientGone)
  signal?.addEventListener('abort', () => controller?.abort(signal.reason as Error), { once: true })
  return {
    onRequestStart(given) {
      controller = given
      if (signal?.aborted) given.abort(signal.reason as Error)
      if (response.destroyed) given.abort(new Error('the client is gone'))
    },
    onResponseStart(given, status, _headers, statusText) {
      if (status < 200) return
      response.on('drain', () => given.resume())
      response.writeHead(
        status,
        reasonPhrase(statusText),
        reshape(responseHeaders((given.rawHeaders ?? []) as (Buffer | string)[], answerRules)) as string[],
      )
      body = bodyOf(response)
    },
    onResponseData(given, piece) {
      if (body && !body.write(piece)) given.pause()
    },
    onResponseEnd() {
      body?.end()
    },
    onResponseError(_given, error) {
      response.off('close', clientGone)
      if (!body && !response.destroyed) return failed(error)
      // The head is out: only a cut connection still says that the body is not whole.
      response.destroy()
      done()
    },
  }
}

/** Resolves when the answer is delivered, rejects when there is none; after its head left, cuts instead. */
export const exchange = (pool: Dispatcher, one: Exchange): Promise<void> =>
  new Promise((done, failed) => {
    const { target, request, withheld, identity } = one
    pool.dispatch(
      {
        path: target,
        method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
        headers: requestHeaders(request.rawHeaders, {
          withheld,
          identity,
          remote: request.socket.remoteAddress ?? '',
          host: request.headers.host ?? '',
          isSecure: cameByTls(request.socket),
        }),
        body: isBodiless(request) ? null : request,
        // A stream that stays open for ever must not block others behind it.
        blocking: false,
      },
      answering(one, { done, failed }),
    )
  })
