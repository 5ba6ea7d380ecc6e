/** Failures of the data plane, in the data plane's own body. They say that the platform, not the tenant's app, answered. */
import type { ServerResponse } from 'node:http'
import { errors, isError, type AppError } from '../../shared/errors.ts'

interface Advice {
  readonly code: string
  readonly status: number
  readonly retryable: boolean
  readonly action: string
  readonly doNot: string
}

const advice = {
  ROUTE_NOT_FOUND: { status: 404, retryable: false, action: 'fix the URL', doNot: 'create the workload again' },
  WORKLOAD_NOT_FOUND: { status: 404, retryable: false, action: 'create the workload, or fix its name', doNot: 'retry' },
  WORKSPACE_NOT_FOUND: { status: 404, retryable: false, action: 'fix the workspace in the address', doNot: 'retry' },
  WORKLOAD_UNAVAILABLE: {
    status: 404,
    retryable: true,
    action: 'try again in a moment; read its status',
    doNot: 'give up at once',
  },
  AUTHENTICATION_REQUIRED: { status: 401, retryable: false, action: 'send an API key', doNot: 'retry without one' },
  AUTHENTICATION_FAILED: {
    status: 401,
    retryable: false,
    action: 'send a valid API key',
    doNot: 'retry with the same one',
  },
  FORBIDDEN: { status: 403, retryable: false, action: 'use a key of that workspace', doNot: 'retry' },
  BAD_REQUEST: { status: 400, retryable: false, action: 'fix the request', doNot: 'retry' },
  UPSTREAM_FAILED: {
    status: 502,
    retryable: true,
    action: 'see that something listens on that port, on all interfaces',
    doNot: 'create the workload again',
  },
  TIMED_OUT: { status: 504, retryable: true, action: 'try again', doNot: 'create the workload again' },
  INTERNAL: { status: 500, retryable: true, action: 'see the log of the host', doNot: 'retry in a tight loop' },
} as const satisfies Record<string, Omit<Advice, 'code'>>

export type GatewayCode = keyof typeof advice

/** A failure with the gateway's own code; `message` says what happened to this request. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: GatewayCode

  constructor(code: GatewayCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

const ofAppError = (error: AppError): GatewayCode => {
  if (error.code === 'unauthenticated') return 'AUTHENTICATION_FAILED'
  if (error.code === 'forbidden') return 'FORBIDDEN'
  if (error.code === 'timed_out') return 'TIMED_OUT'
  if (errors[error.code].retry) return 'WORKLOAD_UNAVAILABLE'
  return error.status < 500 ? 'BAD_REQUEST' : 'INTERNAL'
}

/** The failure as the gateway says it. What is not known to be safe to show becomes INTERNAL with `requestId`. */
export const asGatewayError = (error: unknown, requestId: string): GatewayError => {
  if (error instanceof GatewayError) return error
  if (isError(error)) return new GatewayError(ofAppError(error), error.message, error)
  return new GatewayError('INTERNAL', `internal error (request ${requestId})`, error)
}

export interface ErrorReply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** Status, headers and body of a failure; `header` is the header word of the deployment (`Svc`). */
export const errorReply = (error: GatewayError, options: { header: string; now: number }): ErrorReply => {
  const { status, retryable, action, doNot } = advice[error.code]
  const body = JSON.stringify({
    error: {
      code: error.code,
      message: error.message,
      status,
      retryable,
      origin: 'platform',
      action,
      do_not: doNot,
      docs_url: '',
      timestamp: new Date(options.now).toISOString(),
    },
  })
  const word = options.header.toLowerCase()
  return {
    status,
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'access-control-allow-origin': '*',
      [`x-${word}-source`]: 'platform',
      [`x-${word}-error-code`]: error.code,
      ...(retryable ? { 'retry-after': '1' } : {}),
    },
  }
}

export const sendError = (reply: ErrorReply, response: ServerResponse): void => {
  response.writeHead(reply.status, reply.headers)
  response.end(reply.body)
}
