import { fail } from '../../shared/errors.ts'
import { handle, type Bound } from '../../shared/route.ts'
import { mcpGet, mcpPost } from '../../shared/wire/mcp.ts'
import { handlePost } from './http.ts'
import { mcpServer } from './server.ts'
import { fileTools, type FileToolDeps } from './tools/filesystem.ts'
import { processTools, type ProcessToolDeps } from './tools/process.ts'
import type { Tool } from './tool.ts'

export interface McpDeps extends FileToolDeps, ProcessToolDeps {
  /** Tools of other capabilities. */
  readonly more: readonly Tool[]
}

/** The MCP endpoint; the protocol server is made once, when this is loaded. */
export const mcpRoutes = async (deps: McpDeps): Promise<Bound[]> => {
  const server = await mcpServer([...processTools(deps), ...fileTools(deps), ...deps.more])
  return [
    handle(mcpPost, (_, context) => handlePost(server, context)),
    handle(mcpGet, () => {
      throw fail('method_not_allowed', { reason: 'this endpoint offers no event stream; use POST' })
    }),
  ]
}
