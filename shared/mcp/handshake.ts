/** Requests of the revisions up to 2025-11-25, answered by the SDK. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  McpError,
  type RequestId,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Context, Reply } from '../route.ts'
import type { Methods, ServerInfo } from './methods.ts'
import { createMux } from './mux.ts'
import { isHandshake, latestHandshake } from './revisions.ts'
import { answer, codes, failure, idOf, kindOf, accepted, type Outcome, type RpcRequest } from './rpc.ts'

export interface Handshake {
  /** Answers the requests among `messages`: one by itself, those of a batch in a list; 202 when there are none. */
  handle(messages: readonly unknown[], context: Context): Promise<Reply>
}

const resultOf = (outcome: Outcome): Record<string, unknown> => {
  if ('error' in outcome) throw new McpError(outcome.error.code, outcome.error.message)
  return outcome.result
}

/**
 * The request as it is given to the SDK, with two changes. The SDK would agree to a draft revision that was never
 * published. And it would wait for a task when a call asks to run as one; tasks are not offered here, so the call runs
 * like any other.
 */
const normalised = (request: RpcRequest): RpcRequest => {
  const { task: _, ...params } = request.params ?? {}
  const version = params['protocolVersion']
  if (request.method === 'initialize' && typeof version === 'string' && !isHandshake(version))
    return { ...request, params: { ...params, protocolVersion: latestHandshake } }
  return { ...request, params }
}

interface Shape {
  safeParse(value: unknown): {
    error?: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } | undefined
  }
}

const shapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['initialize', InitializeRequestSchema],
  ['logging/setLevel', SetLevelRequestSchema],
  ['tools/list', ListToolsRequestSchema],
  ['tools/call', CallToolRequestSchema],
])

/** The answer to a request with wrong parameters, which the SDK would call an internal error. */
const wrongParameters = (request: RpcRequest): object | undefined => {
  const issue = shapes.get(request.method)?.safeParse(request).error?.issues[0]
  if (!issue) return undefined
  const error = { code: codes.invalidParams, message: `${issue.path.join('.')}: ${issue.message}` }
  return { jsonrpc: '2.0', id: request.id, error }
}

/** One server for all requests, connected once. */
export const createHandshake = async (methods: Methods, info: ServerInfo): Promise<Handshake> => {
  const transport = createMux()
  const server = new Server(info, { capabilities: { logging: {}, tools: { listChanged: true } } })
  const contextOf = (id: RequestId): Context => {
    const context = transport.contextOf(id)
    if (!context) throw new McpError(codes.refused, 'the caller is gone')
    return context
  }
  server.setRequestHandler(ListToolsRequestSchema, ({ params }, { requestId }) =>
    resultOf(methods.list(params, contextOf(requestId))),
  )
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId }) =>
    resultOf(await methods.call(params, contextOf(requestId))),
  )
  await server.connect(transport)
  return {
    async handle(messages, context) {
      const wrong = messages.find(message => !JSONRPCMessageSchema.safeParse(message).success)
      if (wrong !== undefined)
        return failure(400, { code: codes.invalidRequest, message: 'not a JSON-RPC 2.0 message' }, idOf(wrong))
      // Without sessions clients cannot be told apart, so the request that a notification wants to cancel may be
      // another client's.
      const requests = messages.filter((message): message is RpcRequest => kindOf(message) === 'request')
      const answers = await Promise.all(
        requests.map(async request => wrongParameters(request) ?? transport.request(normalised(request), context)),
      )
      if (answers.length === 0) return accepted()
      return answer(answers.length === 1 ? answers[0] : answers)
    },
  }
}
