/** Streamable HTTP around the protocol: which requests are let in, in which order they are checked, what comes back. */
import {
  JSONRPCMessageSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js'
import { fail, isError } from '../../shared/errors.ts'
import { readBody } from '../../shared/http/body.ts'
import { json, reply, type Context, type Reply, type Request } from '../../shared/route.ts'
import type { Mux } from './mux.ts'

const largestBody = 4 * 1024 * 1024
/** Batches ended with this revision of the protocol. */
const withoutBatches = '2025-06-18'
const assumedVersion = '2025-03-26'

const text = (status: number, message: string): Reply =>
  reply(status, { 'content-type': 'text/plain; charset=utf-8' }, `${message}\n`)

const header = (request: Request, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
}

const isLoopback = (address: string): boolean => /^(::ffff:)?127\.|^::1$/.test(address)

/** A page that rebinds its DNS name to loopback still sends its own name as Host. */
const rebound = (request: Request): boolean => {
  if (!isLoopback(request.local)) return false
  const host = (header(request, 'host') ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  return host !== 'localhost' && !isLoopback(host)
}

const accepts = (request: Request): boolean => {
  const types = (header(request, 'accept') ?? '').split(',').map(part => part.split(';')[0]?.trim().toLowerCase() ?? '')
  const allows = (type: string) =>
    types.some(given => given === type || given === '*/*' || given === `${type.split('/')[0]}/*`)
  return allows('application/json') && allows('text/event-stream')
}

/** The refusal of a request that must not reach the protocol, or undefined. */
const refusal = (request: Request): Reply | undefined => {
  const version = header(request, 'mcp-protocol-version')
  if (rebound(request)) return text(403, 'Forbidden: the Host header does not name this machine')
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version))
    return text(
      400,
      `Bad Request: unsupported Mcp-Protocol-Version "${version}"; supported are ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}`,
    )
  const type = (header(request, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') return text(415, 'Unsupported Media Type: Content-Type must be application/json')
  if (!accepts(request)) return text(400, 'Bad Request: Accept must allow application/json and text/event-stream')
  if (header(request, 'last-event-id') !== undefined) return text(400, 'Bad Request: Last-Event-ID has no meaning here')
  return undefined
}

const parseMessages = (bytes: Buffer, version: string): JSONRPCMessage[] | Reply => {
  let parsed: unknown
  try {
    parsed = JSON.parse(bytes.toString('utf8'))
  } catch {
    return text(400, 'Bad Request: the body is not JSON')
  }
  const isBatch = Array.isArray(parsed)
  if (isBatch && version >= withoutBatches)
    return text(400, 'Bad Request: batches are not part of this protocol version')
  const messages = (isBatch ? (parsed as unknown[]) : [parsed]).map(message => JSONRPCMessageSchema.safeParse(message))
  if (messages.length === 0 || messages.some(({ success }) => !success))
    return text(400, 'Bad Request: not a JSON-RPC 2.0 message')
  return messages.map(({ data }) => data as JSONRPCMessage)
}

/** Answers one POST. */
export const handlePost = async (server: Mux, context: Context): Promise<Reply> => {
  const { request } = context
  const refused = refusal(request)
  if (refused) return refused
  const bytes = await readBody(request.body, largestBody).catch((error: unknown) => error)
  if (isError(bytes, 'payload_too_large')) throw fail('payload_too_large', { limit: largestBody })
  if (!Buffer.isBuffer(bytes)) throw bytes
  const messages = parseMessages(bytes, header(request, 'mcp-protocol-version') ?? assumedVersion)
  if (!Array.isArray(messages)) return messages
  const answers: Promise<JSONRPCMessage>[] = []
  for (const message of messages) {
    if ('method' in message && 'id' in message) answers.push(server.request(message, context))
    else server.notify(message)
  }
  if (answers.length === 0) return reply(202)
  const answered = await Promise.all(answers)
  return json(answered.length === 1 ? answered[0] : answered, {
    headers: { 'cache-control': 'no-cache, no-transform' },
  })
}
