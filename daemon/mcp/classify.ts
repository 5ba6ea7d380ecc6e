/**
 * Which kind of revision a message is of: the message decides by the revision it names in `_meta`, the headers are
 * checked against it and never change it. Order and codes are those of the specification of 2026-07-28.
 */
import type { Reply, Request } from '../../shared/route.ts'
import { claimedVersion, claims, envelopeProblems } from './envelope.ts'
import { contradiction, omission, standardHeader } from './headers.ts'
import { handshakeRevisions, isHandshake, isModern, modernRevisions } from './revisions.ts'
import { codes, failure, idOf, kindOf, type RpcId, type RpcNotification, type RpcRequest } from './rpc.ts'

type Classified =
  | { readonly kind: 'handshake'; readonly messages: readonly unknown[]; readonly batch: boolean }
  | { readonly kind: 'modern'; readonly request: RpcRequest }
  /** A message nobody waits for. */
  | { readonly kind: 'told' }
  | { readonly kind: 'refused'; readonly reply: Reply }

const refused = (reply: Reply): Classified => ({ kind: 'refused', reply })

const invalid = (message: string, id: RpcId | null = null): Classified =>
  refused(failure(400, { code: codes.invalidRequest, message }, id))

/** Batches belong to revisions with a handshake; more than this many messages at once no client sends. */
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

/** A message that names its own revision, or that only the header says to be of the new kind. */
const classifyModern = (message: RpcRequest | RpcNotification, request: Request): Classified => {
  const id = idOf(message)
  const version = claimedVersion(message.params)
  const isRequest = 'id' in message
  // A notification need not say anything of itself, but what it says must be a version.
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

/** A handshake is one by its method, unless all else about it is of the kind that has none. */
const beginsHandshake = (message: RpcRequest | RpcNotification): boolean =>
  message.method === 'initialize' &&
  'id' in message &&
  (envelopeProblems(message.params).length > 0 || !isModern(claimedVersion(message.params) ?? ''))

/** Classifies the body of a POST, of whatever kind it is. */
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
