/** The protocol: what the server says of itself, its tools, and calls of them. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js'
import { mux, type Mux } from './mux.ts'
import { callTool, describeTool, type Tool } from './tool.ts'

/** A connected server with these tools, listed by name. */
export const mcpServer = async (tools: readonly Tool[]): Promise<Mux> => {
  const byName = new Map(tools.map(tool => [tool.name, tool]))
  const listed = tools.map(describeTool).sort((a, b) => (a.name < b.name ? -1 : 1))
  const transport = mux()
  const server = new Server(
    { name: 'Sandbox API Server', version: '1.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId }) => {
    const called = byName.get(params.name)
    if (!called) throw new McpError(ErrorCode.InvalidParams, `unknown tool "${params.name}"`)
    const context = transport.contextOf(requestId)
    if (!context) throw new McpError(ErrorCode.ConnectionClosed, 'the caller is gone')
    return { ...(await callTool(called, params.arguments, context)) }
  })
  await server.connect(transport)
  return transport
}
