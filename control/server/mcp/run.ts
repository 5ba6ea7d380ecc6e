/** A call of a tool as the request that it stands for, answered by the same dispatcher as one that came over HTTP. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { decodePath } from '../../../shared/http/request.ts'
import type { Dispatcher } from '../../../shared/http/dispatch.ts'
import { failedResult, type ToolResult } from '../../../shared/mcp/methods.ts'
import { isObject } from '../../../shared/mcp/rpc.ts'
import { Reply, type Context, type Request, type Route } from '../../../shared/route.ts'
import type { WireNames } from '../../base/wire/names.ts'
import { pathNames, queryNames, type OperationTool } from './tools.ts'

type Arguments = Readonly<Record<string, unknown>>

export interface RunDeps {
  readonly names: Pick<WireNames, 'credentialHeaders' | 'workspaceHeaders' | 'versionHeaders'>
  /** The version that tools are answered in. */
  readonly version: string
  readonly dispatcher: () => Dispatcher
}

const isText = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value)

/** What is wrong with the arguments themselves; what they hold is for the operation to judge. */
const problemOf = (route: Route, args: Arguments): string | undefined => {
  const inPath = pathNames(route)
  const inQuery = queryNames(route)
  const known = new Set([...inPath, ...inQuery, ...(route.accepts === 'json' ? ['body'] : [])])
  const unknown = Object.keys(args).find(name => !known.has(name))
  if (unknown !== undefined) return `has no argument ${unknown.slice(0, 64)}; there are ${[...known].join(', ')}`
  const missing = inPath.find(name => !isText(args[name]) || args[name] === '')
  if (missing) return `${missing}: must be a text that is not empty`
  const wrong = inQuery.find(name => args[name] !== undefined && args[name] !== null && !isText(args[name]))
  return wrong && `${wrong}: must be a text, a number or true or false`
}

const addressOf = (route: Route, args: Arguments): { rawPath: string; search: URLSearchParams } => {
  const given = queryNames(route).flatMap((name): [string, string][] =>
    isText(args[name]) ? [[name, String(args[name])]] : [],
  )
  return {
    rawPath: route.path.replace(/[:*](\w+)/g, (_, name: string) =>
      encodeURIComponent(String(args[name]).toWellFormed()),
    ),
    search: new URLSearchParams(given),
  }
}

/** The request of the call: from the same caller, in the same workspace unless the arguments name another. */
const requestOf = (route: Route, args: Arguments, { request, requestId }: Context, deps: RunDeps): Request => {
  const { names, version } = deps
  const { rawPath, search } = addressOf(route, args)
  const passed = [...names.credentialHeaders, ...names.workspaceHeaders].map(name => [name, request.headers[name]])
  const body = args['body'] === undefined ? [] : [Buffer.from(JSON.stringify(args['body']))]
  return {
    method: route.method,
    rawPath,
    path: decodePath(rawPath),
    search,
    rawQuery: search.toString(),
    headers: {
      ...Object.fromEntries(passed),
      ...Object.fromEntries(names.versionHeaders.map(name => [name, version])),
      accept: 'application/json',
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body: Readable.from(body),
    remote: request.remote,
    local: request.local,
  }
}

const bytesOf = async ({ body }: Reply): Promise<string | undefined> => {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array)
    return Buffer.from(body ?? '').toString()
  if (body instanceof Readable) return String(await buffer(body))
  return undefined
}

/** Undefined for what is no JSON, as lines of it are none. */
const valueOf = (text: string): unknown => {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A failure is a result that says so, because agents read results and not errors. */
const resultOf = async (reply: Reply): Promise<ToolResult> => {
  const text = await bytesOf(reply)
  if (text === undefined) return failedResult('this answer goes on and on: call it without `follow`')
  if (reply.status >= 400) return failedResult(text || `status ${reply.status}`)
  const value = valueOf(text)
  return {
    content: [{ type: 'text', text: text || '{}' }],
    // The protocol's structured results are objects; a list is told as text alone.
    ...(isObject(value) ? { structuredContent: { ...value } } : {}),
  }
}

/** Undefined for arguments that are read to any depth and cannot be written. */
const requestIn = (...given: Parameters<typeof requestOf>): Request | undefined => {
  try {
    return requestOf(...given)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

export const runTool = async (
  { name, route }: OperationTool,
  args: Arguments,
  context: Context,
  deps: RunDeps,
): Promise<ToolResult> => {
  const problem = problemOf(route, args)
  if (problem) return failedResult(`${name} ${problem}`)
  const request = requestIn(route, args, context, deps)
  if (!request) return failedResult(`${name} body: is nested too deeply`)
  const answer = await deps.dispatcher().dispatch(request, context)
  if (answer instanceof Reply) return resultOf(answer)
  throw new Error(`${route.id} takes the connection over`)
}
