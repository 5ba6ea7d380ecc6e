/** Failures of the data plane, in the data plane's own body. They say that the platform, not the tenant's app, answered. */
import type { ServerResponse } from 'node:http'
import { fail, faceOf, isError, type AppError } from '../../shared/errors.ts'

/** The failure as it may be shown; what is not known to be safe becomes `internal` with the request's id. */
export const shown = (error: unknown, requestId: string): AppError =>
  isError(error) ? error : fail('internal', { requestId }, error)

export interface ErrorReply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** Status, headers and body of a failure; `headers` are the header words of the deployment (`Svc`). */
export const errorReply = (error: AppError, options: { headers: readonly string[]; now: number }): ErrorReply => {
  const { code, status, action, doNot } = faceOf(error.code)
  const body = JSON.stringify({
    error: {
      code,
      message: error.message,
      status,
      retryable: error.retry,
      origin: 'platform',
      action,
      do_not: doNot,
      docs_url: '',
      timestamp: new Date(options.now).toISOString(),
    },
  })
  return {
    status,
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'access-control-allow-origin': '*',
      ...Object.fromEntries(
        options.headers.flatMap(word => [
          [`x-${word.toLowerCase()}-source`, 'platform'],
          [`x-${word.toLowerCase()}-error-code`, code],
        ]),
      ),
      ...(error.retry ? { 'retry-after': '1' } : {}),
    },
  }
}

export const sendError = (reply: ErrorReply, response: ServerResponse): void => {
  response.writeHead(reply.status, reply.headers)
  response.end(reply.body)
}
