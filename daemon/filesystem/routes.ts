/** Binds the file routes. */
import { handle, type Bound, type Context, type Request } from '../../shared/route.ts'
import * as wire from '../../shared/wire/filesystem.ts'
import type { FileSender } from '../node-internals/send-file.ts'
import { treePath, type Paths } from '../paths.ts'
import { download } from './transfer/download.ts'
import { put, type PutDeps } from './transfer/put.ts'
import { deleteTree, readTree, writeTree } from './tree.ts'

/** Whether the answer is bytes: the caller asked for them, or its Accept header excludes JSON. */
const wantsBytes = (request: Request, asked: boolean): boolean => {
  const accept = String(request.headers['accept'] ?? '')
  if (asked || accept.includes('application/octet-stream')) return true
  return accept !== '' && !accept.includes('application/json') && !accept.includes('*/*')
}

export const filesystemRoutes = (deps: PutDeps & { readonly paths: Paths; readonly sendFile: FileSender }): Bound[] => {
  const { files, paths, sendFile } = deps
  /** As requested, and on disk. */
  const named = (rest: string, { request }: Context) => {
    const requested = paths.requested(request.rawPath, rest)
    return { requested, path: paths.absolute(requested) }
  }
  return [
    handle(wire.readPath, async ({ params, query }, context) => {
      const { requested, path } = named(params.path, context)
      const shown = requested === '.' || requested === './' ? path : requested
      const opened = await files.open(path)
      const bytes = opened.stat.kind === 'file' && wantsBytes(context.request, query.download)
      return bytes ? download(opened, shown, { context, sendFile }) : files.object(opened, path, shown)
    }),
    handle(wire.writePath, async ({ params, query }, context) => {
      const { requested, path } = named(params.path, context)
      const { request } = context
      return { path: requested, message: await put(deps, { path, permissions: query.permissions, request }) }
    }),
    handle(wire.deletePath, async ({ params, query }, context) => {
      const { requested, path } = named(params.path, context)
      const kind = await files.remove(path, query.recursive)
      return { path: requested, message: `${kind === 'file' ? 'File' : 'Directory'} deleted successfully` }
    }),
    handle(wire.readTree, ({ params, query }, { signal }) =>
      readTree(files, paths.absolute(treePath(params.path)), { ...query, signal }),
    ),
    handle(wire.readRootTree, ({ query }, { signal }) => readTree(files, paths.absolute('/'), { ...query, signal })),
    handle(wire.writeTree, ({ params, body }) =>
      writeTree(files, paths.absolute(treePath(params.path)), body.files ?? {}),
    ),
    handle(wire.writeRootTree, ({ body }) => writeTree(files, paths.absolute('/'), body.files ?? {})),
    handle(wire.deleteTree, async ({ params, query }) => {
      const path = treePath(params.path)
      await deleteTree(files, paths.absolute(path), query.recursive)
      return { path, message: 'Directory deleted successfully' }
    }),
  ]
}
