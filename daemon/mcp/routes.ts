import { fail } from '../../shared/errors.ts'
import { postHandler } from '../../shared/mcp/http.ts'
import { handle, type Bound } from '../../shared/route.ts'
import { mcpGet, mcpPost } from '../../shared/wire/mcp.ts'
import { toolMethods } from './methods.ts'
import { fileTools, type FileToolDeps } from './tools/filesystem.ts'
import { processTools, type ProcessToolDeps } from './tools/process.ts'
import type { Tool } from './tool.ts'

interface McpDeps extends FileToolDeps, ProcessToolDeps {
  /** Tools of other capabilities. */
  readonly more: readonly Tool[]
}

/** The MCP endpoint. */
export const mcpRoutes = (deps: McpDeps): Bound[] => {
  const answer = postHandler({
    methods: toolMethods([...processTools(deps), ...fileTools(deps), ...deps.more]),
    info: { name: 'Sandbox API Server', version: '1.0.0' },
    opensLoopback: true,
  })
  return [
    handle(mcpPost, (_, context) => answer(context)),
    handle(mcpGet, () => {
      throw fail('method_not_allowed', { reason: 'this endpoint offers no event stream; use POST' })
    }),
  ]
}
