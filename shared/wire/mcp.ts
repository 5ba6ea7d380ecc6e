/** The MCP endpoint: streamable HTTP, stateless, JSON answers only. What goes in and out is JSON-RPC 2.0. */
import { route } from '../route.ts'

const id = { type: ['string', 'number', 'null'] }
const jsonrpc = { type: 'string', const: '2.0' }

const message = {
  type: 'object',
  properties: { jsonrpc, id: { type: ['string', 'integer'] }, method: { type: 'string' }, params: { type: 'object' } },
  required: ['jsonrpc', 'method'],
  additionalProperties: false,
}

const error = {
  type: 'object',
  properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
  required: ['code', 'message'],
}

/** A refusal in the protocol's own form. */
export const mcpRefusal = (description: string) => ({
  description,
  content: {
    'application/json': {
      schema: { type: 'object', properties: { jsonrpc, id, error }, required: ['jsonrpc', 'id', 'error'] },
    },
  },
})

const answer = {
  type: 'object',
  properties: { jsonrpc, id, result: { type: 'object' }, error },
  required: ['jsonrpc', 'id'],
}

/** Answers of every server of the protocol. */
export const mcpAnswers = {
  200: {
    description: 'The answer to a request; to subscriptions/listen a stream of events, which ends at once',
    content: {
      'application/json': { schema: { anyOf: [answer, { type: 'array', items: answer }] } },
      'text/event-stream': { schema: { type: 'string' } },
    },
  },
  202: { description: 'Taken: there was nothing to be answered' },
  404: mcpRefusal('No such method (since 2026-07-28; before, it is an answer with status 200)'),
  415: mcpRefusal('Another Content-Type than application/json'),
  500: {
    description: 'internal',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  },
}

export const mcpPost = route('POST /mcp', {
  id: 'mcp.post',
  summary: 'Model Context Protocol over streamable HTTP: one JSON-RPC message (or an older batch) in, its answer out',
  accepts: 'stream',
  document: {
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { anyOf: [message, { type: 'array', items: message }] } } },
    },
    responses: {
      ...mcpAnswers,
      400: mcpRefusal('Not JSON, not JSON-RPC, another protocol version, or headers that disagree with the body'),
      403: mcpRefusal('A Host or Origin header that does not name this machine, on loopback'),
      413: mcpRefusal('More than 4 MiB'),
    },
  },
})

export const mcpGet = route('GET /mcp', {
  id: 'mcp.get',
  summary: 'Not offered: there is no stream to listen to; use POST',
  errors: ['method_not_allowed'],
})

export const mcpWire = [mcpPost, mcpGet]
