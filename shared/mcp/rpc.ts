/** JSON-RPC 2.0 as all revisions of the protocol use it. */
import { json, reply, type Reply } from '../route.ts'

export type RpcId = string | number

export interface RpcRequest {
  readonly jsonrpc: '2.0'
  readonly id: RpcId
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export type RpcNotification = Omit<RpcRequest, 'id'>

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** What a method comes to. */
export type Outcome = { readonly result: Record<string, unknown> } | { readonly error: RpcError }

/** JSON-RPC's own codes, then those of the protocol. */
export const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  /** Refused before any message was read. */
  refused: -32000,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isId = (value: unknown): value is RpcId => typeof value === 'string' || Number.isSafeInteger(value)

const hasOnly = (value: Json, keys: readonly string[]): boolean => Object.keys(value).every(key => keys.includes(key))

const isMeta = (meta: unknown): boolean =>
  meta === undefined || (isObject(meta) && (meta['progressToken'] === undefined || isId(meta['progressToken'])))

const isCall = ({ method, params }: Json): boolean =>
  typeof method === 'string' && (params === undefined || (isObject(params) && isMeta(params['_meta'])))

const isAnswer = (value: Json): boolean => {
  const { id, result, error } = value
  if ('result' in value) return isObject(result) && isId(id) && hasOnly(value, ['jsonrpc', 'id', 'result'])
  const told = isObject(error) && Number.isSafeInteger(error['code']) && typeof error['message'] === 'string'
  return told && (id === undefined || isId(id)) && hasOnly(value, ['jsonrpc', 'id', 'error'])
}

/** The kind of a JSON-RPC 2.0 message; undefined when the value is none. */
export const kindOf = (value: unknown): 'request' | 'notification' | 'response' | undefined => {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return undefined
  if ('method' in value) {
    if (!isCall(value)) return undefined
    if (!('id' in value)) return hasOnly(value, ['jsonrpc', 'method', 'params']) ? 'notification' : undefined
    return isId(value['id']) && hasOnly(value, ['jsonrpc', 'id', 'method', 'params']) ? 'request' : undefined
  }
  return isAnswer(value) ? 'response' : undefined
}

/** The id for the answer; null when the body has no readable one. */
export const idOf = (body: unknown): RpcId | null =>
  isObject(body) && typeof body['method'] === 'string' && /^(string|number)$/.test(typeof body['id'])
    ? (body['id'] as RpcId)
    : null

export const noStore = { 'cache-control': 'no-cache, no-transform' } as const
const headers = { 'content-type': 'application/json', ...noStore }

/** A failure as the body of an answer with this HTTP status. */
export const failure = (status: number, error: RpcError, id: RpcId | null = null): Reply =>
  json({ jsonrpc: '2.0', error, id }, { status, headers })

/** The answer to one message, or to a batch. */
export const answer = (body: unknown): Reply => json(body, { headers })

/** For messages that have no answer. */
export const accepted = (): Reply => reply(202, noStore)
