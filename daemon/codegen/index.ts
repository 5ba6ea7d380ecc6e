/** Edits and searches of code, as routes and as MCP tools; loaded with the first call. */
import type { Bound } from '../../shared/route.ts'
import { fastApply, reranking } from '../../shared/wire/codegen.ts'
import type { Core } from '../core.ts'
import type { Filesystem } from '../filesystem/index.ts'
import { lazyRoutes } from '../lazy-routes.ts'
import type { Tool } from '../mcp/tool.ts'

interface Codegen {
  readonly bounds: readonly Bound[]
  tools(): Promise<readonly Tool[]>
}

export const createCodegen = ({ config, workdir }: Core, { files, paths }: Filesystem): Codegen => {
  const provider = async () => (await import('./select.ts')).selectProvider(config.codegen)
  return {
    bounds: lazyRoutes([fastApply, reranking], async () => {
      const [{ codegenRoutes }, selected] = await Promise.all([import('./routes.ts'), provider()])
      return codegenRoutes({ files, paths, provider: selected })
    }),
    async tools() {
      const [{ codegenTools }, selected] = await Promise.all([import('./tools.ts'), provider()])
      return codegenTools({ files, workdir: workdir(), provider: selected })
    },
  }
}
