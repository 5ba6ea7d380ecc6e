import { handle, type Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/codegen.ts'
import type { Files } from '../filesystem/files.ts'
import type { Paths } from '../paths.ts'
import { applyEdit } from './apply.ts'
import type { Provider } from './provider.ts'
import { requireProvider } from './select.ts'
import { rerank } from './rerank.ts'

export const codegenRoutes = (deps: { files: Files; paths: Paths; provider: Provider | undefined }): Bound[] => {
  const { files, paths } = deps
  return [
    handle(wire.fastApply, async ({ params, body }, { request, signal }) => {
      const provider = requireProvider(deps.provider)
      const shown = paths.requested(request.rawPath, params.path)
      const asked = { path: paths.absolute(shown), edit: body.codeEdit, model: body.model ?? undefined }
      const applied = await applyEdit({ files, provider }, asked, signal)
      return { success: true, path: shown, ...applied, message: 'Code edit applied successfully' }
    }),
    handle(wire.reranking, async ({ params, query }, { request, signal }) => {
      const provider = requireProvider(deps.provider)
      const path = paths.absolute(paths.requested(request.rawPath, params.path))
      const asked = { ...query, path, tokenLimit: query.tokenLimit || undefined }
      const found = await rerank({ port: files.port, provider }, asked, signal)
      const message =
        found.length === 0
          ? 'No files found that matter for the query'
          : `Found ${found.length} file${found.length === 1 ? '' : 's'} for the query`
      return { success: true, files: found, message }
    }),
  ]
}
