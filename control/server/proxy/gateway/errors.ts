/** Failures of the data plane, in the data plane's own body. They say that the platform, not the tenant's app, answered. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fail, faceOf, isError, type AppError } from '../../../../shared/errors.ts'
import { prefersHtml } from '../../web/html/accept.ts'
import { errorPage } from '../../web/html/error-page.ts'
import { pageHeaders, rootFrom } from '../../web/html/page.ts'

/** The failure as it may be shown; what is not known to be safe becomes `internal` with the request's id. */
export const shown = (error: unknown, requestId: string): AppError =>
  isError(error) ? error : fail('internal', { requestId }, error)

export interface ErrorReply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

export interface ErrorOptions {
  /** The header words of the deployment (`Svc`). */
  readonly headers: readonly string[]
  readonly now: number
  readonly request: Pick<IncomingMessage, 'url' | 'headers'>
  /** Where a browser can log in for what was asked for. */
  readonly login?: string | undefined
}

const jsonBody = (error: AppError, now: number): string => {
  const { code, status, action, doNot } = faceOf(error.code)
  return JSON.stringify({
    error: {
      code,
      message: error.message,
      status,
      retryable: error.retry,
      origin: 'platform',
      action,
      do_not: doNot,
      docs_url: '',
      timestamp: new Date(now).toISOString(),
    },
  })
}

const htmlBody = (error: AppError, { request, login }: ErrorOptions): string => {
  const { code, status, action } = faceOf(error.code)
  const root = rootFrom((request.url ?? '/').split('?', 1)[0] as string)
  return errorPage({ status, code, message: error.message, action, root, ...(status === 401 ? { login } : {}) })
}

/** Seconds: as the failure says, or soon. */
const retryAfter = ({ details }: AppError): string =>
  details && 'retryAfterS' in details ? String(Math.ceil(details.retryAfterS)) : '1'

/** Status, headers and body of a failure: a page for who prefers one. */
export const errorReply = (error: AppError, options: ErrorOptions): ErrorReply => {
  const { code, status } = faceOf(error.code)
  const html = prefersHtml(options.request.headers.accept)
  const body = html ? htmlBody(error, options) : jsonBody(error, options.now)
  return {
    status,
    body,
    headers: {
      ...(html
        ? pageHeaders()
        : { 'content-type': 'application/json; charset=utf-8', 'referrer-policy': 'no-referrer' }),
      vary: 'Accept',
      'content-length': String(Buffer.byteLength(body)),
      'access-control-allow-origin': '*',
      ...Object.fromEntries(
        options.headers.flatMap(word => [
          [`x-${word.toLowerCase()}-source`, 'platform'],
          [`x-${word.toLowerCase()}-error-code`, code],
        ]),
      ),
      ...(error.retry ? { 'retry-after': retryAfter(error) } : {}),
    },
  }
}

export const sendError = (reply: ErrorReply, response: ServerResponse): void => {
  response.writeHead(reply.status, reply.headers)
  response.end(reply.body)
}
