/**
 * Which kind of protocol revision a message belongs to. The revision that it names in `_meta` decides; the headers are
 * checked against that and never change it. The order of checks and the codes are those of the specification of
 * 2026-07-28.
 */
import type { Reply, Request } from '../route.ts'
import { claimedVersion, claims, envelopeProblems } from './envelope.ts'
import { contradiction, omission, standardHeader } from './headers.ts'
import { handshakeRevisions, isHandshake, isModern, modernRevisions } from './revisions.ts'
import { codes, failure, idOf, kindOf, type RpcId, type RpcNotification, type RpcRequest } from './rpc.ts'

type Classified =
  | { readonly kind: 'handshake'; readonly messages: readonly unknown[]; readonly batch: boolean }
  | { readonly kind: 'modern'; readonly request: RpcRequest }
  /** A message without an answer. */
  | { readonly kind: 'told' }
  | { readonly kind: 'refused'; readonly reply: Reply }

const refused = (reply: Reply): Classified => ({ kind: 'refused', reply })

const invalid = (message: string, id: RpcId | null = null): Classified =>
  refused(failure(400, { code: codes.invalidRequest, message }, id))

/** Batches exist in revisions with a handshake only. Clients send fewer messages at once than this. */
const maxBatch = 100

const unsupported = (requested: string, supported: readonly string[], id: RpcId | null): Classified =>
  refused(
    failure(
      400,
      {
        code: codes.unsupportedVersion,
        message: `Unsupported protocol version "${requested}"; supported: ${supported.join(', ')}`,
        data: { supported, requested },
      },
      id,
    ),
  )

const classifyBatch = (messages: readonly unknown[]): Classified => {
  if (messages.length === 0) return invalid('an empty batch')
  if (messages.length > maxBatch) return invalid(`a batch of more than ${maxBatch} messages`)
  if (messages.some(message => claims((message as { params?: unknown } | null)?.params)))
    return invalid('batches are not part of protocol version 2026-07-28')
  if (messages.some(message => kindOf(message) === undefined)) return invalid('not JSON-RPC 2.0 messages')
  return { kind: 'handshake', messages, batch: true }
}

const badEnvelope = (message: RpcRequest | RpcNotification, id: RpcId | null): Classified | undefined => {
  const problems = envelopeProblems(message.params)
  if (problems.length === 0) return undefined
  const text = problems.map(({ key, problem }) => `${key} ${problem}`).join('; ')
  return refused(
    failure(400, { code: codes.invalidParams, message: `params._meta: ${text}`, data: { envelope: problems } }, id),
  )
}

/** A message that names its revision, or one of which only the header says that it has no handshake. */
const classifyModern = (message: RpcRequest | RpcNotification, request: Request): Classified => {
  const id = idOf(message)
  const version = claimedVersion(message.params)
  const isRequest = 'id' in message
  // A notification need not name a version; if it does, the version must be valid.
  const bad = isRequest || (version === undefined && claims(message.params)) ? badEnvelope(message, id) : undefined
  if (bad) return bad
  const contradicted = contradiction(request, message, version)
  if (contradicted) return refused(failure(400, contradicted, id))
  const spoken = version ?? standardHeader(request, 'mcp-protocol-version') ?? ''
  if (!isModern(spoken)) return unsupported(spoken, modernRevisions, id)
  if (!isRequest) return { kind: 'told' }
  const omitted = omission(request, message)
  return omitted ? refused(failure(400, omitted, id)) : { kind: 'modern', request: message }
}

/** `initialize` is a handshake, unless everything else about the message says that it is of the kind without one. */
const beginsHandshake = (message: RpcRequest | RpcNotification): boolean =>
  message.method === 'initialize' &&
  'id' in message &&
  (envelopeProblems(message.params).length > 0 || !isModern(claimedVersion(message.params) ?? ''))

/** Classifies the body of a POST. */
export const classify = (body: unknown, request: Request): Classified => {
  const header = standardHeader(request, 'mcp-protocol-version')
  if (Array.isArray(body)) return classifyBatch(body)
  const kind = kindOf(body)
  if (!kind) return invalid('not a JSON-RPC 2.0 message', idOf(body))
  if (kind === 'response') return { kind: 'told' }
  const message = body as RpcRequest | RpcNotification
  const begins = beginsHandshake(message)
  if (claims(message.params) && !begins) return classifyModern(message, request)
  if (header !== undefined && !isHandshake(header)) {
    if (!isModern(header)) return unsupported(header, [...modernRevisions, ...handshakeRevisions], idOf(body))
    if (!begins) return classifyModern(message, request)
    const mismatch = `initialize is not part of the protocol version ${header} that the header names`
    return refused(failure(400, { code: codes.headerMismatch, message: mismatch }, idOf(body)))
  }
  return { kind: 'handshake', messages: [message], batch: false }
}
