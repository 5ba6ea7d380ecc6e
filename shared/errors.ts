/**
 * Every failure a caller can see: `code → { status, retry, text }`. A new one is a line here and one at the throw. Surfaces
 * (daemon, management API, gateway) render it in their own shape; none of them builds an HTTP status by itself.
 */
import { entry, faced, type Entry, type GatewayFace } from './error-entry.ts'
import { modelErrors } from './model-errors.ts'

export type { GatewayFace } from './error-entry.ts'

export const errors = {
  // First: where several codes have one face, a client reads the last.
  ...modelErrors,
  // Requests
  invalid_argument: faced(
    entry(400, (d: { field: string; reason: string }) => (d.field ? `${d.field}: ${d.reason}` : d.reason)),
    { code: 'BAD_REQUEST', action: 'fix the request', doNot: 'retry' },
  ),
  invalid_body: entry(400, (d: { reason: string }) => `invalid request body: ${d.reason}`),
  invalid_api_version: entry(
    400,
    (d: { given: string; valid: readonly string[] }) =>
      `unsupported API version "${d.given}"; valid versions are ${d.valid.join(', ')}`,
  ),
  payload_too_large: faced(
    entry(413, (d: { limit: number }) => `the request body is larger than ${d.limit} bytes`),
    { code: 'REQUEST_ENTITY_TOO_LARGE', action: 'send less at once', doNot: 'retry' },
  ),
  unsupported_encoding: entry(415, (d: { given: string }) => `the body has content coding "${d.given}"; send it plain`),
  method_not_allowed: entry(405, (d: { reason: string }) => d.reason),
  upgrade_required: entry(426, (d: { protocol: string }) => `this address speaks ${d.protocol} only`),
  route_not_found: faced(
    entry(404, (d: { method: string; path: string }) => `no route for ${d.method} ${d.path}`),
    { code: 'ROUTE_NOT_FOUND', action: 'fix the URL', doNot: 'create the workload again' },
  ),
  // Permissions
  unauthenticated: faced(
    entry(401, (d: { reason: string }) => d.reason),
    { code: 'AUTHENTICATION_FAILED', action: 'send a valid API key', doNot: 'retry with the same one' },
  ),
  forbidden: faced(
    entry(403, (d: { reason: string }) => d.reason),
    { code: 'FORBIDDEN', action: 'use a key of that workspace', doNot: 'retry' },
  ),
  credential_required: faced(
    entry(
      401,
      (d: { headers: readonly string[] }) => `no credential: send ${d.headers.join(' or ')}: Bearer <API key>`,
    ),
    { code: 'AUTHENTICATION_REQUIRED', action: 'send an API key', doNot: 'retry without one' },
  ),
  // Workloads behind the gateway
  workspace_not_found: faced(
    entry(404, (d: { wanted: string }) => `no such workspace: looked for ${d.wanted}`),
    { code: 'WORKSPACE_NOT_FOUND', action: 'fix the workspace in the address', doNot: 'retry' },
  ),
  workload_not_found: faced(
    entry(404, (d: { kind: string; wanted: string }) => `no such ${d.kind}: looked for ${d.wanted}`),
    { code: 'WORKLOAD_NOT_FOUND', action: 'create the workload, or fix its name', doNot: 'retry' },
  ),
  upstream_failed: faced(
    entry(502, (d: { reason: string }) => d.reason, true),
    {
      code: 'UPSTREAM_FAILED',
      action: 'see that something listens on that port, on all interfaces',
      doNot: 'create the workload again',
    },
  ),
  upstream_busy: faced(
    entry(503, (d: { reason: string }) => d.reason, true),
    {
      code: 'UPSTREAM_BUSY',
      action: 'try again in a moment, with fewer requests at a time',
      doNot: 'create the workload again',
    },
  ),
  upstream_malformed: faced(
    entry(502, (d: { port: number; reason: string }) => `port ${d.port} gives no answer that is HTTP: ${d.reason}`),
    { code: 'UPSTREAM_FAILED', action: 'speak HTTP on that port', doNot: 'retry' },
  ),
  startup_failed: entry(422, (d: { reason: string }) => `STARTUP TCP probe failed: ${d.reason}`),
  not_running: faced(
    entry(
      409,
      (d: { kind: string; name: string; state: string; reason: string }) =>
        `${d.kind} "${d.name}" is ${d.state}${d.reason ? `: ${d.reason}` : ''}`,
    ),
    {
      code: 'WORKLOAD_UNAVAILABLE',
      action: 'read its status and errors; enable it, or create it anew',
      doNot: 'retry',
      status: 404,
    },
  ),
  // Resources
  not_found: faced(
    entry(404, (d: { kind: string; name: string }) => `${d.kind} "${d.name}" not found`),
    { code: 'WORKLOAD_NOT_FOUND', action: 'create the workload, or fix its name', doNot: 'retry' },
  ),
  already_exists: entry(409, (d: { kind: string; name: string }) => `${d.kind} "${d.name}" already exists`),
  wrong_state: entry(
    409,
    (d: { kind: string; name: string; state: string; wanted: string }) =>
      `${d.kind} "${d.name}" is ${d.state}; ${d.wanted} is not allowed`,
  ),
  changed_meanwhile: entry(
    409,
    (d: { kind: string; name: string }) => `${d.kind} "${d.name}" was changed by someone else meanwhile`,
    true,
  ),
  expired: entry(410, (d: { kind: string; name: string }) => `${d.kind} "${d.name}" has expired`),
  in_use: entry(
    409,
    (d: { kind: string; name: string; users: readonly string[]; more: number }) =>
      `${d.kind} "${d.name}" is in use by ${d.users.join(', ')}${d.more > 0 ? ` and ${d.more} more` : ''}`,
  ),
  quota_exceeded: entry(
    400,
    (d: { resource: string; most: number }) =>
      `the quota of this account is reached: ${d.most} ${d.resource} in all its workspaces together`,
  ),
  not_available: entry(400, (d: { what: string }) => `this host has no ${d.what}`),
  provider_failed: entry(
    424,
    (d: { connection: string; reason: string }) => `the provider of connection "${d.connection}": ${d.reason}`,
    true,
  ),
  sign_in_failed: entry(424, (d: { reason: string }) => `the sign-in provider: ${d.reason}`, true),
  no_capacity: entry(429, (d: { reason: string }) => `Maximum parallel executions limit reached: ${d.reason}`, true),
  too_many_attempts: entry(
    429,
    (d: { retryAfterS: number }) => `too many attempts; try again in ${d.retryAfterS} s`,
    true,
  ),
  overloaded: entry(
    429,
    (d: { waiting: number; retryAfterS: number }) =>
      `${d.waiting} others wait for a machine already, longer than anybody would; try again in ${d.retryAfterS} s`,
    true,
  ),
  too_many_calls: faced(
    entry(
      429,
      (d: { kind: string; name: string; waiting: number }) =>
        `every machine of ${d.kind} "${d.name}" has all the calls that it takes, and ${d.waiting} more wait`,
      true,
    ),
    { code: 'TOO_MANY_CALLS', action: 'try again in a moment; raise maxScale or concurrency', doNot: 'retry at once' },
  ),
  policy_violation: faced(
    entry(403, (d: { reason: string }) => d.reason),
    { code: 'POLICY_VIOLATION', action: 'change the policies, or deploy elsewhere', doNot: 'retry' },
  ),
  no_room: entry(
    503,
    (d: { wantedMb: number; freeMb: number; retryAfterS: number }) =>
      `the disk of this host has ${d.freeMb} MB left to promise, and ${d.wantedMb} MB are wanted; ask for less, or try again in ${d.retryAfterS} s`,
    true,
  ),
  draining: entry(
    503,
    (d: { retryAfterS: number }) => `this host takes no new sandboxes just now; try again in ${d.retryAfterS} s`,
    true,
  ),
  // Models
  // Images
  invalid_image: entry(
    400,
    (d: { requested: string; supported: readonly string[] }) =>
      `image "${d.requested}" is not known; supported images are ${d.supported.join(', ')}`,
  ),
  image_refused: entry(400, (d: { image: string; reason: string }) => `image "${d.image}" cannot be used: ${d.reason}`),
  image_failed: entry(
    502,
    (d: { image: string; step: string; reason: string }) => `image "${d.image}", ${d.step}: ${d.reason}`,
    true,
  ),
  // The box
  busy: entry(503, (d: { what: string; next: string }) => `${d.what}; ${d.next}`, true),
  unavailable: faced(
    entry(503, (d: { what: string; next: string }) => `${d.what}; ${d.next}`, true),
    {
      code: 'WORKLOAD_UNAVAILABLE',
      action: 'try again in a moment; read its status',
      doNot: 'give up at once',
      status: 404,
    },
  ),
  timed_out: faced(
    entry(504, (d: { what: string; afterMs: number }) => `${d.what} timed out after ${d.afterMs} ms`, true),
    { code: 'TIMED_OUT', action: 'try again', doNot: 'create the workload again' },
  ),
  driver_failed: entry(
    502,
    (d: { driver: string; step: string; reason: string }) => `driver ${d.driver}, ${d.step}: ${d.reason}`,
    true,
  ),
  bad_answer: entry(
    502,
    (d: { from: string; reason: string }) => `${d.from} answered what cannot be understood: ${d.reason}`,
  ),
  // The daemon's own
  path_not_found: entry(404, (d: { path: string; reason: string }) => `${d.path} not found: ${d.reason}`),
  unprocessable: entry(422, (d: { reason: string }) => d.reason),
  operation_failed: entry(500, (d: { reason: string }) => d.reason),
  internal: faced(
    entry(500, (d: { requestId: string }) => `internal error (request ${d.requestId})`),
    { code: 'INTERNAL', action: 'see the log of the host', doNot: 'retry in a tight loop' },
  ),
} satisfies Record<string, Entry<never>>

export type ErrorCode = keyof typeof errors
export type Details<C extends ErrorCode> = Parameters<(typeof errors)[C]['text']>[0]

/** A failure that is expected and safe to show. Anything else that is thrown is a bug or comes from outside. */
export class AppError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'AppError'
  readonly code: C
  /** Undefined for an error reported by another program: only its message is known. */
  readonly details: Details<C> | undefined
  readonly status: number
  readonly retry: boolean
  /** `said` is the details, or the message itself. */
  constructor(code: C, said: Details<C> | string, cause?: unknown) {
    const { status, retry, text } = errors[code] as Entry<Details<C>>
    super(typeof said === 'string' ? said : text(said), cause === undefined ? undefined : { cause })
    this.code = code
    this.details = typeof said === 'string' ? undefined : said
    this.status = status
    this.retry = retry
  }
}

/** How the gateway says an error of this code: in its own words, else as one that may work later, or never will. */
export const faceOf = (code: ErrorCode): GatewayFace => {
  const { gateway, retry, status } = errors[code] as Entry<never>
  if (gateway) return gateway
  const like = retry ? errors.unavailable : status < 500 ? errors.invalid_argument : errors.internal
  return like.gateway as GatewayFace
}

/** Makes an error to throw: `throw fail('not_found', { kind, name })`. */
export const fail = <C extends ErrorCode>(code: C, details: Details<C>, cause?: unknown): AppError<C> =>
  new AppError(code, details, cause)

/** An error reported by another program, with its message. */
export const reported = <C extends ErrorCode>(code: C, message: string): AppError<C> => new AppError(code, message)

/** True for an AppError, of the given code if one is given. */
export const isError = <C extends ErrorCode>(error: unknown, code?: C): error is AppError<C> =>
  error instanceof AppError && (code === undefined || error.code === code)

/** The `code` of a Node system error (`ENOENT`, …), or undefined. */
export const errno = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** The message of whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
