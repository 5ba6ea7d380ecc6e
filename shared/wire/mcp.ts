/** The MCP endpoint: streamable HTTP, stateless, JSON answers only. */
import { route } from '../route.ts'

export const mcpPost = route('POST /mcp', {
  id: 'mcp.post',
  summary: 'Model Context Protocol over streamable HTTP: one JSON-RPC message (or an older batch) in, its answer out',
  accepts: 'stream',
  produces: ['application/json'],
  errors: ['payload_too_large', 'unsupported_media_type', 'forbidden'],
})

export const mcpGet = route('GET /mcp', {
  id: 'mcp.get',
  summary: 'Not offered: there is no stream to listen to; use POST',
  errors: ['method_not_allowed'],
})

export const mcpWire = [mcpPost, mcpGet]
