/** The MCP endpoint, loaded with its first client. */
import type { Bound } from '../../shared/route.ts'
import { mcpWire } from '../../shared/wire/mcp.ts'
import type { Core } from '../core.ts'
import type { Files } from '../filesystem/files.ts'
import { lazyRoutes } from '../lazy-routes.ts'
import { portsReady } from '../network/ready.ts'
import type { Supervisor } from '../process/index.ts'
import type { Tool } from './tool.ts'

interface McpParts {
  readonly files: Files
  readonly supervisor: Supervisor
  /** Tools of other rooms. */
  readonly moreTools: () => Promise<readonly Tool[]>
}

export const createMcp = (
  { clock, workdir, config: { logs } }: Core,
  { files, supervisor, moreTools }: McpParts,
): readonly Bound[] =>
  lazyRoutes(mcpWire, async () => {
    const [{ mcpRoutes }, more] = await Promise.all([import('./routes.ts'), moreTools()])
    return mcpRoutes({ clock, files, workdir: workdir(), supervisor, portsReady, tailBytes: logs.inMemoryBytes, more })
  })
