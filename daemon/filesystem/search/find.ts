/** Finds files or directories by name. */
import { posix } from 'node:path'
import { errno, fail, messageOf } from '../../../shared/errors.ts'
import { escapesOf } from '../describe.ts'
import { asNotLookedUp } from '../failures.ts'
import { glob } from './glob.ts'
import type { FilePort } from '../port.ts'
import { excludesOf, limitOf, listOf, skipsHidden } from './query.ts'
import { walk } from './walk.ts'

interface FindQuery {
  readonly type?: string | undefined
  readonly patterns?: string | undefined
  readonly maxResults?: string | undefined
  readonly excludeDirs?: string | undefined
  readonly excludeHidden?: string | undefined
}

export interface Found {
  /** Relative to the start; the start itself is `.`. */
  readonly path: string
  readonly escapedName?: string
  readonly escapedPath?: string
  readonly type: 'file' | 'directory'
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errno(error) ?? '')

/** In lexical order. Throws `invalid_argument`, `path_not_found`; `operation_failed` when any directory cannot be read. */
export const find = async (port: FilePort, start: string, query: FindQuery, signal: AbortSignal): Promise<Found[]> => {
  const type = query.type || 'file'
  if (type !== 'file' && type !== 'directory')
    throw fail('invalid_argument', { field: 'type', reason: 'must be file or directory' })
  const limit = limitOf(query.maxResults, 20)
  const patterns = listOf(query.patterns).map(glob)
  const named = (name: string) => patterns.length === 0 || patterns.some(matches => matches(name))
  const found: Found[] = []
  try {
    const { kind } = await port.stat(start).catch((error: unknown) => {
      if (isMissing(error)) throw fail('path_not_found', { path: start, reason: messageOf(error) }, error)
      throw error
    })
    if (kind !== 'directory')
      return type === 'file' && named(posix.basename(start)) ? [{ path: '.', type: 'file' }] : []
    if (type === 'directory') found.push({ path: '.', type })
    if (found.length >= limit) return found
    await walk(
      port,
      start,
      {
        exclude: excludesOf(query.excludeDirs),
        skipHidden: skipsHidden(query.excludeHidden),
        visit(path, entry) {
          const directory = entry.kind === 'directory'
          if (type === 'directory' ? directory : !directory && named(entry.name))
            found.push({ path, ...escapesOf(path), type })
          return found.length < limit
        },
        // The start exists, so an error below it is not the caller's mistake, not even a path that is too long.
        onError(error) {
          throw fail('operation_failed', { reason: messageOf(error) }, error)
        },
      },
      signal,
    )
  } catch (error) {
    throw asNotLookedUp(error)
  }
  return found
}
