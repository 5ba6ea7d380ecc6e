/**
 * An endpoint is one value: `route('POST /process', { … })` declares it, `handle(route, fn)` binds it.
 * Matching, parsing, the OpenAPI document, the typed client and the MCP tools are all derived from it.
 */
import type { Readable, Writable } from 'node:stream'
import type { Duplex } from 'node:stream'
import type { ErrorCode } from './errors.ts'
import type { Log } from './log.ts'
import { s, type In, type Out, type Shape } from './schema.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD'

/** `json`: parsed by `body`; `stream`: the handler reads `ctx.body` itself; `none`: any body is ignored. */
export type BodyKind = 'json' | 'stream' | 'none'

export interface Route<
  P extends Shape = Shape,
  Q extends Shape = Shape,
  B extends Shape = Shape,
  R extends Shape = Shape,
  E extends Shape = Shape,
> {
  readonly id: string
  readonly method: Method
  /** `/a/:name/b`; a last segment `*name` takes the rest, slashes included. */
  readonly path: string
  readonly summary: string
  /** Family: the tag in the OpenAPI document and the page under docs/. */
  readonly family: string
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly accepts: BodyKind
  readonly bodyLimit: number
  /** Shape of a JSON answer; a handler may also return a Reply (a stream, another status). */
  readonly returns: R
  /** Shape of one line, where the answer may be a stream of JSON lines. */
  readonly events: E | undefined
  /** Content types this route may answer with when it is not plain JSON. */
  readonly produces: readonly string[]
  readonly errors: readonly ErrorCode[]
  /** The route answers by taking over the socket (WebSocket). */
  readonly upgrade: boolean
  /** No credential is asked for (management API). */
  readonly open: boolean
  /**
   * Text fields of the form it takes, besides the file `file`. Without a declared `body` it takes a form only, with one raw
   * bytes too.
   */
  readonly form: readonly string[] | undefined
  /** Statuses it may answer with besides 200 and those of `errors`, and when; those of success and of failure have the body of 200, but for 204. */
  readonly statuses: Readonly<Record<number, string>>
  /** Routes to call with its answer, by id: their parameters and the fields that fill them. */
  readonly leadsTo: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Members of the OpenAPI operation that no shape can express. */
  readonly document: Readonly<Record<string, unknown>>
  /** For one surface or client (OAuth scope, MCP tool name, …); the dispatcher does not read it. */
  readonly extra: Readonly<Record<string, unknown>>
}

export interface Declaration<P extends Shape, Q extends Shape, B extends Shape, R extends Shape, E extends Shape> {
  id: string
  summary: string
  family?: string
  params?: P
  query?: Q
  body?: B
  accepts?: BodyKind
  /** Bytes; JSON bodies above it are refused with 413. Default 64 MiB. */
  bodyLimit?: number
  returns?: R
  events?: E
  produces?: readonly string[]
  errors?: readonly ErrorCode[]
  upgrade?: boolean
  open?: boolean
  form?: readonly string[]
  statuses?: Readonly<Record<number, string>>
  leadsTo?: Readonly<Record<string, Readonly<Record<string, string>>>>
  document?: Readonly<Record<string, unknown>>
  extra?: Readonly<Record<string, unknown>>
}

/** The shape of undeclared parameters: not looked at. */
export const anything = s.looseObject({})
type Anything = typeof anything

/** Declares an endpoint: `route('GET /process/:identifier', { id: 'process.get', … })`. */
export const route = <
  P extends Shape = Anything,
  Q extends Shape = Anything,
  B extends Shape = s.ZodMiniUnknown,
  R extends Shape = s.ZodMiniUnknown,
  E extends Shape = s.ZodMiniUnknown,
>(
  target: `${Method} /${string}`,
  declaration: Declaration<P, Q, B, R, E>,
): Route<P, Q, B, R, E> => {
  const [method, path] = target.split(' ') as [Method, string]
  const { params, query, body, returns } = declaration
  return Object.freeze({
    id: declaration.id,
    method,
    path,
    summary: declaration.summary,
    family: declaration.family ?? declaration.id.split('.')[0] ?? declaration.id,
    params: params ?? (anything as unknown as P),
    query: query ?? (anything as unknown as Q),
    body: body ?? (s.unknown() as unknown as B),
    accepts: declaration.accepts ?? (body ? 'json' : 'none'),
    bodyLimit: declaration.bodyLimit ?? 64 * 1024 * 1024,
    returns: returns ?? (s.unknown() as unknown as R),
    events: declaration.events,
    produces: declaration.produces ?? [],
    errors: declaration.errors ?? [],
    upgrade: declaration.upgrade ?? false,
    open: declaration.open ?? false,
    form: declaration.form,
    statuses: declaration.statuses ?? {},
    leadsTo: declaration.leadsTo ?? {},
    document: declaration.document ?? {},
    extra: declaration.extra ?? {},
  })
}

/** From a request to the end of its answer, or of the connection it became. */
export interface Exchange {
  isOver(): boolean
  /** Calls `run` at its end. */
  onOver(run: () => void): void
  /** Ends it at once, in the middle of an answer that has begun. */
  cut(): void
}

/** A request as handlers and hooks see it; HTTP objects stay inside shared/http. */
export interface Request {
  readonly method: string
  /** Undecoded path, without the query. */
  readonly rawPath: string
  /** Path decoded once. */
  readonly path: string
  readonly search: URLSearchParams
  /** What follows the `?`, undecoded, or ''. */
  readonly rawQuery: string
  /** Lower-case names; repeated headers joined as Node does. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
  /** All of the body, where it was there with the head: then nobody needs to read `body`. */
  readonly whole?: Buffer | undefined
  /** Peer address, '' in process. */
  readonly remote: string
  /** Our own address the request came in on, '' in process. */
  readonly local: string
  /** What it came by, to look up what is known of it; undefined in process. */
  readonly connection?: object | undefined
  /** The exchange itself, which ends before its time with `cut`; undefined in process. */
  readonly exchange?: Exchange | undefined
}

export interface Context {
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal
  readonly request: Request
  readonly requestId: string
  readonly log: Log
  /** What the surface's `before` hook found out (actor, workspace, …). */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Writes the body piece by piece; the reply ends when it resolves and is cut off when it rejects. */
export type Pump = (out: Writable, signal: AbortSignal) => Promise<void>
export type Body = string | Uint8Array | Readable | Pump | undefined

/** An answer with its own status, headers or body; made by `reply()`. */
export class Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
  /** Values of `Set-Cookie`, which is the one header that may come more than once. */
  readonly cookies: readonly string[]

  constructor(status: number, headers: Readonly<Record<string, string>>, body: Body, cookies: readonly string[] = []) {
    this.status = status
    this.headers = headers
    this.body = body
    this.cookies = cookies
  }
}

/** Answers an upgrade request by taking the socket over (`hijack` in other servers). */
export class SocketUpgrade {
  readonly run: (socket: Duplex, head: Buffer, request: unknown) => void

  constructor(run: (socket: Duplex, head: Buffer, request: unknown) => void) {
    this.run = run
  }
}

export const reply = (status: number, headers: Record<string, string> = {}, body?: Body): Reply =>
  new Reply(status, headers, body)

/** JSON that every parser accepts: lone surrogates, as from file names that are not UTF-8, become U+FFFD. */
export const jsonText = (value: unknown): string => {
  const text = JSON.stringify(value)
  // JSON.stringify escapes lone surrogates and never pairs; matching every escape passes over an escaped backslash before `ud`.
  return text?.includes('\\ud')
    ? text.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, one => (one[1] === 'u' && one[2] === 'd' ? '\ufffd' : one))
    : text
}

/** A JSON answer with a status or headers of its own. */
export const json = (value: unknown, options: { status?: number; headers?: Record<string, string> } = {}): Reply =>
  new Reply(
    options.status ?? 200,
    { 'content-type': 'application/json; charset=utf-8', ...options.headers },
    jsonText(value),
  )

export interface Input<P extends Shape, Q extends Shape, B extends Shape> {
  readonly params: Out<P>
  readonly query: Out<Q>
  readonly body: Out<B>
}

export type Handler<P extends Shape, Q extends Shape, B extends Shape, R extends Shape> = (
  input: Input<P, Q, B>,
  context: Context,
) => Promise<In<R> | Reply | SocketUpgrade> | In<R> | Reply | SocketUpgrade

/** A declared route with the function that answers it. */
export interface Bound {
  readonly route: Route
  readonly run: (input: { params: unknown; query: unknown; body: unknown }, context: Context) => unknown
}

/** Binds a handler; the compiler refuses one that reads a misspelt field or returns another shape. */
export const handle = <P extends Shape, Q extends Shape, B extends Shape, R extends Shape>(
  declared: Route<P, Q, B, R>,
  run: Handler<P, Q, B, R>,
): Bound => ({ route: declared as unknown as Route, run: run as unknown as Bound['run'] })
