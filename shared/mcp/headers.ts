/**
 * Headers that repeat parts of the body, so that a gateway can route without reading it. Since 2026-07-28 a request is
 * refused when they are missing or differ from the body.
 */
import type { Request } from '../route.ts'
import { codes, isObject, type RpcError, type RpcNotification, type RpcRequest } from './rpc.ts'

type StandardHeader = 'mcp-protocol-version' | 'mcp-method' | 'mcp-name'

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

/**
 * Decodes `=?base64?…?=`, the form of values that a header cannot carry as they are. Undefined when that is not
 * canonical Base64 of UTF-8.
 */
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

/** The first header that differs from the message, whose version is `version`. */
export const contradiction = (
  request: Request,
  { method }: RpcNotification,
  version: string | undefined,
): RpcError | undefined => {
  const given = standardHeader(request, 'mcp-protocol-version')
  if (given !== undefined && version !== undefined && given !== version)
    return mismatch('MCP-Protocol-Version', given, `the body names version ${version}`)
  const repeated = standardHeader(request, 'mcp-method')
  return repeated !== undefined && repeated !== method
    ? mismatch('Mcp-Method', repeated, `the body has method "${method}"`)
    : undefined
}

/** The first required header that is missing, or that does not match the request. */
export const omission = (request: Request, message: RpcRequest): RpcError | undefined => {
  if (standardHeader(request, 'mcp-protocol-version') === undefined)
    return mismatch('MCP-Protocol-Version', undefined, 'the body names a version')
  if (standardHeader(request, 'mcp-method') === undefined)
    return mismatch('Mcp-Method', undefined, `the body has method "${message.method}"`)
  return nameDisagreement(request, message)
}
