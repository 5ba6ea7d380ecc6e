/**
 * Streamable HTTP around the protocol: which requests are accepted, in which order they are checked, what is answered.
 */
import { isError } from '../errors.ts'
import { parseJson, bodyOf } from '../http/body.ts'
import { isLoopback } from '../loopback.ts'
import { Reply, type Context, type Request } from '../route.ts'
import { classify } from './classify.ts'
import type { Handshake } from './handshake.ts'
import { headerOf } from './headers.ts'
import type { Methods, ServerInfo } from './methods.ts'
import { answerModern } from './modern.ts'
import { assumedRevision, withoutBatches } from './revisions.ts'
import { codes, failure, accepted } from './rpc.ts'

const maxBodyBytes = 4 * 1024 * 1024

/** A server of the protocol. */
export interface Offered {
  readonly methods: Methods
  readonly info: ServerInfo
  /** Calls over loopback need no credential, so that web pages that rebind their name to it must be kept out. */
  readonly opensLoopback: boolean
}

/** Answers one POST. */
export type HandlePost = (context: Context) => Promise<Reply>

const refuse = (status: number, message: string): Reply => failure(status, { code: codes.refused, message })

/** Host name of an `Origin`; '' when it has none, as that of a sandboxed page (`null`). */
const originHost = (origin: string): string => {
  const url = URL.parse(origin)
  return url?.hostname.replace(/^\[|\]$/g, '') ?? ''
}

/**
 * Guards loopback where calls need no credential: a web page that rebinds its DNS name to loopback still sends its own
 * name as Host and Origin. Calls from elsewhere came through the gateway, which requires a key.
 */
const rebound = (request: Request): string | undefined => {
  if (!isLoopback(request.local)) return undefined
  const host = (headerOf(request, 'host') ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  if (!isLoopback(host)) return 'the Host header does not name this machine'
  const origin = headerOf(request, 'origin')
  return origin !== undefined && !isLoopback(originHost(origin))
    ? `the Origin ${origin} is not this machine`
    : undefined
}

const accepts = (request: Request): boolean => {
  const given = headerOf(request, 'accept') ?? ''
  const types = given.split(',').map(part => part.split(';')[0]?.trim().toLowerCase() ?? '')
  const allows = (type: string) =>
    types.some(given => given === type || given === '*/*' || given === `${type.split('/')[0]}/*`)
  return allows('application/json') && allows('text/event-stream')
}

/** The refusal of a request whose body need not be looked at, or undefined. */
const refusal = (request: Request, opensLoopback: boolean): Reply | undefined => {
  const reason = opensLoopback ? rebound(request) : undefined
  if (reason) return refuse(403, reason)
  const type = (headerOf(request, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') return refuse(415, 'the Content-Type must be application/json')
  if (!accepts(request)) return refuse(400, 'Accept must allow application/json and text/event-stream')
  if (headerOf(request, 'last-event-id') !== undefined) return refuse(400, 'Last-Event-ID has no meaning here')
  return undefined
}

/** The body as JSON, or a Reply that says why there is none. */
const readJson = async (request: Request): Promise<{ readonly body: unknown } | Reply> => {
  try {
    const body = parseJson(await bodyOf(request, maxBodyBytes))
    if (body !== undefined) return { body }
  } catch (error) {
    if (isError(error, 'payload_too_large')) return refuse(413, error.message)
    if (!isError(error, 'invalid_body')) throw error
  }
  return failure(400, { code: codes.parseError, message: 'the body is not JSON' })
}

/** The SDK is loaded with the first request of a revision that it serves. */
const handshakeOf = ({ methods, info }: Offered): (() => Promise<Handshake>) => {
  let loading: Promise<Handshake> | undefined
  return () => {
    loading ??= import('./handshake.ts')
      .then(loaded => loaded.createHandshake(methods, info))
      .catch(error => {
        loading = undefined
        throw error
      })
    return loading
  }
}

export const postHandler = (offered: Offered): HandlePost => {
  const handshake = handshakeOf(offered)
  return async context => {
    const { request } = context
    const refused = refusal(request, offered.opensLoopback)
    if (refused) return refused
    const read = await readJson(request)
    if (read instanceof Reply) return read
    const classified = classify(read.body, request)
    if (classified.kind === 'refused') return classified.reply
    if (classified.kind === 'told') return accepted()
    if (classified.kind === 'modern') return answerModern(offered, classified.request, context)
    const revision = headerOf(request, 'mcp-protocol-version') ?? assumedRevision
    if (classified.batch && revision >= withoutBatches)
      return failure(400, {
        code: codes.invalidRequest,
        message: `batches are not part of protocol version ${revision}`,
      })
    return (await handshake()).handle(classified.messages, context)
  }
}
