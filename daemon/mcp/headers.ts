/**
 * Headers that repeat what the body says, so that a gateway can route without reading it. Since 2026-07-28 a request
 * whose headers are missing or say something else is refused.
 */
import type { Request } from '../../shared/route.ts'
import { codes, isObject, type RpcError, type RpcNotification, type RpcRequest } from './rpc.ts'

export type StandardHeader = 'mcp-protocol-version' | 'mcp-method' | 'mcp-name'

export const headerOf = (request: Request, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

export const standardHeader = (request: Request, name: StandardHeader): string | undefined =>
  headerOf(request, name)?.replace(/^[ \t]+|[ \t]+$/g, '')

/** The field of `params` that `Mcp-Name` repeats. */
const named: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** What a header cannot carry as it is comes as `=?base64?…?=`. Undefined when that is not canonical Base64 of UTF-8. */
const decoded = (value: string): string | undefined => {
  const coded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1]
  if (coded === undefined) return value
  const bytes = Buffer.from(coded, 'base64')
  if (bytes.toString('base64') !== coded) return undefined
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : undefined
}

const mismatch = (header: string, given: string | undefined, body: string): RpcError => ({
  code: codes.headerMismatch,
  message: given === undefined ? `the header ${header} is missing; ${body}` : `the header ${header} disagrees: ${body}`,
  data: { mismatch: { header: given ?? '(missing)', body } },
})

const nameDisagreement = (request: Request, { method, params }: RpcRequest): RpcError | undefined => {
  const field = named.get(method)
  if (field === undefined) return undefined
  const said = isObject(params) ? params[field] : undefined
  const given = standardHeader(request, 'mcp-name')
  if (given === undefined)
    return typeof said === 'string' ? mismatch('Mcp-Name', given, `the body has params.${field} "${said}"`) : undefined
  const name = decoded(given)
  if (name === undefined) return mismatch('Mcp-Name', given, 'it is not valid Base64')
  return typeof said === 'string' && said !== name
    ? mismatch('Mcp-Name', given, `the body has params.${field} "${said}"`)
    : undefined
}

/** The first header that disagrees with the message, which names `version`; a notification's may be missing. */
export const disagreement = (
  request: Request,
  message: RpcRequest | RpcNotification,
  version: string | undefined,
): RpcError | undefined => {
  const given = standardHeader(request, 'mcp-protocol-version')
  const method = standardHeader(request, 'mcp-method')
  const inBody = `the body names version ${version}`
  if (given !== undefined && version !== undefined && given !== version)
    return mismatch('MCP-Protocol-Version', given, inBody)
  if (method !== undefined && method !== message.method)
    return mismatch('Mcp-Method', method, `the body has method "${message.method}"`)
  if (!('id' in message)) return undefined
  if (given === undefined) return mismatch('MCP-Protocol-Version', given, inBody)
  if (method === undefined) return mismatch('Mcp-Method', method, `the body has method "${message.method}"`)
  return nameDisagreement(request, message)
}
