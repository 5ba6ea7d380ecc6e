import { fail } from '../../shared/errors.ts'
import { handle, type Bound } from '../../shared/route.ts'
import { mcpGet, mcpPost } from '../../shared/wire/mcp.ts'
import type { Handshake } from './handshake.ts'
import { handlePost } from './http.ts'
import { methodsOf } from './methods.ts'
import { fileTools, type FileToolDeps } from './tools/filesystem.ts'
import { processTools, type ProcessToolDeps } from './tools/process.ts'
import type { Tool } from './tool.ts'

interface McpDeps extends FileToolDeps, ProcessToolDeps {
  /** Tools of other capabilities. */
  readonly more: readonly Tool[]
}

/** The MCP endpoint. The SDK is loaded with the first request of a revision that it serves. */
export const mcpRoutes = (deps: McpDeps): Bound[] => {
  const methods = methodsOf([...processTools(deps), ...fileTools(deps), ...deps.more])
  let loading: Promise<Handshake> | undefined
  const handshake = (): Promise<Handshake> => {
    loading ??= import('./handshake.ts')
      .then(loaded => loaded.createHandshake(methods))
      .catch(error => {
        loading = undefined
        throw error
      })
    return loading
  }
  return [
    handle(mcpPost, (_, context) => handlePost({ methods, handshake }, context)),
    handle(mcpGet, () => {
      throw fail('method_not_allowed', { reason: 'this endpoint offers no event stream; use POST' })
    }),
  ]
}
