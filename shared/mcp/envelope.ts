/** What every request since 2026-07-28 carries in `params._meta` instead of a handshake. */
import { problemsOf, s } from '../schema.ts'
import { isObject } from './rpc.ts'

/** The protocol's own keys in `_meta`. */
export const metaKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  server: 'io.modelcontextprotocol/serverInfo',
  subscription: 'io.modelcontextprotocol/subscriptionId',
} as const

const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

const envelopeShape = s.looseObject({
  [metaKeys.version]: s.string(),
  [metaKeys.client]: s.optional(s.looseObject({ name: s.string(), version: s.string() })),
  [metaKeys.capabilities]: s.record(s.string(), s.unknown()),
  [metaKeys.logLevel]: s.optional(s.enum(logLevels)),
})

const metaOf = (params: unknown): Readonly<Record<string, unknown>> | undefined => {
  const meta = isObject(params) ? params['_meta'] : undefined
  return isObject(meta) ? meta : undefined
}

/** A message that names its revision belongs to the kind without a handshake, whatever else is wrong with it. */
export const claims = (params: unknown): boolean => {
  const meta = metaOf(params)
  return meta !== undefined && metaKeys.version in meta
}

/** The revision that the message names, if it is a string. */
export const claimedVersion = (params: unknown): string | undefined => {
  const version = metaOf(params)?.[metaKeys.version]
  return typeof version === 'string' ? version : undefined
}

/** What is wrong with an envelope: the `key` in `_meta` and the reason; empty when all is right. */
export const envelopeProblems = (params: unknown): { key: string; problem: string }[] => {
  const meta = metaOf(params)
  if (!meta) return [{ key: '_meta', problem: 'is missing' }]
  return problemsOf(envelopeShape, meta).map(({ field, reason }) => ({ key: field, problem: reason }))
}
