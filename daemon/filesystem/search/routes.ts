/** Binds find, fuzzy search and content search. */
import { errno, fail, messageOf } from '../../../shared/errors.ts'
import { handle, type Bound } from '../../../shared/route.ts'
import * as wire from '../../../shared/wire/filesystem.ts'
import { addressed, type Paths } from '../../paths.ts'
import { searchContent } from './content.ts'
import { asUnprocessable } from '../failures.ts'
import { find } from './find.ts'
import { fuzzy } from './fuzzy.ts'
import type { FilePort } from '../port.ts'
import { excludesOf, limitOf } from './query.ts'

const mustBeDirectory = async (port: FilePort, path: string): Promise<void> => {
  const absent = (reason: string, cause?: unknown) =>
    fail('invalid_argument', { field: 'path', reason: `the directory ${path} does not exist: ${reason}` }, cause)
  const { kind } = await port.stat(path).catch(error => {
    throw errno(error) === 'ENOENT' ? absent(messageOf(error), error) : asUnprocessable(error)
  })
  if (kind !== 'directory') throw absent(`it is a ${kind}`)
}

export const searchRoutes = (deps: { port: FilePort; paths: Paths }): Bound[] => {
  const { port, paths } = deps
  return [
    handle(wire.findPaths, async ({ params, query }, { request, signal }) => {
      const start = paths.absolute(addressed(request.rawPath, params.path))
      const matches = await find(port, start, query, signal)
      return { matches, total: matches.length }
    }),
    handle(wire.searchPaths, async ({ params, query }, { request, signal }) => {
      const path = addressed(request.rawPath, params.path)
      // Older clients put the query into the path, where the root names no query.
      if (!query.query && (path === '.' || /^\/+$/.test(path)))
        throw fail('invalid_argument', { field: 'query', reason: 'is required to search this directory' })
      const matches = await fuzzy(port, paths.absolute(path), query, signal)
      return { matches, total: matches.length }
    }),
    handle(wire.searchContent, async ({ params, query }, { request, signal }) => {
      if (!query.query) throw fail('invalid_argument', { field: 'query', reason: 'is required' })
      const limit = limitOf(query.maxResults, 100)
      const requested = params.path === '' ? '.' : paths.requested(request.rawPath, params.path)
      const start = paths.absolute(requested)
      await mustBeDirectory(port, start)
      const { caseSensitive, filePattern } = query
      const exclude = excludesOf(query.excludeDirs)
      const matches = await searchContent(
        port,
        start,
        { query: query.query, caseSensitive, filePattern, exclude, limit },
        signal,
      )
      return { query: query.query, matches, total: matches.length }
    }),
  ]
}
