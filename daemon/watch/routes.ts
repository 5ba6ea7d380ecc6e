import { errno, fail, messageOf } from '../../shared/errors.ts'
import type { Clock } from '../../shared/clock.ts'
import { handle, reply, type Bound } from '../../shared/route.ts'
import { watchFilesystem } from '../../shared/wire/watch.ts'
import type { FilePort } from '../filesystem/port.ts'
import type { WatchUser } from '../native/inotify/inotify.ts'
import type { Paths } from '../paths.ts'
import { createFeed } from './feed.ts'
import type { Hub } from './hub.ts'
import { openTree, type Tree } from './tree.ts'

interface WatchDeps {
  readonly clock: Clock
  readonly files: Pick<FilePort, 'readdir' | 'stat'>
  readonly hub: Hub
  readonly paths: Paths
  /** The workload identity: only what it may read is watched. */
  readonly user: () => WatchUser
}

const keepaliveMs = 30_000
/** When the first walk of a tree takes longer, the stream starts before all of it is watched. */
const patienceMs = 10_000

const refusals = new Set(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR'])

/** `dir/**` asks for the whole tree below `dir`. */
const target = (path: string): { directory: string; recursive: boolean } => {
  if (path === '**') return { directory: '.', recursive: true }
  if (path.endsWith('/**')) return { directory: path.slice(0, -3) || '/', recursive: true }
  return { directory: path, recursive: false }
}

const mustBeDirectory = async (files: WatchDeps['files'], path: string): Promise<void> => {
  const stat = await files.stat(path).catch(error => {
    if (errno(error) === 'ENOENT') return undefined
    throw fail('unprocessable', { reason: messageOf(error) }, error)
  })
  if (!stat) throw fail('invalid_argument', { field: 'path', reason: 'does not exist' })
  if (stat.kind !== 'directory') throw fail('invalid_argument', { field: 'path', reason: 'is not a directory' })
}

/** GET /watch/filesystem: lines of JSON for as long as the client listens. */
export const watchRoutes = (deps: WatchDeps): Bound[] => {
  const { clock, files, hub, paths, user } = deps
  return [
    handle(watchFilesystem, async ({ params, query }, { request, signal }) => {
      const { directory, recursive } = target(paths.requested(request.rawPath, params.path))
      const root = paths.absolute(directory)
      const ignore = (query.ignore ?? '').split(',').filter(part => part !== '')
      await mustBeDirectory(files, root)

      let tree: Tree | undefined
      const feed = createFeed(() => tree?.recover('the client was too slow and events were dropped'))
      try {
        tree = openTree({ root, recursive, ignore }, { hub, files, user: user(), tell: feed.push })
      } catch (error) {
        if (refusals.has(errno(error) ?? '')) throw fail('unprocessable', { reason: messageOf(error) }, error)
        throw fail('operation_failed', { reason: `cannot watch: ${messageOf(error)}` }, error)
      }
      const stopKeepalive = clock.every(keepaliveMs, () => feed.push('[keepalive]\n'))
      const close = () => {
        stopKeepalive()
        tree?.close()
      }
      signal.addEventListener('abort', close, { once: true })
      if (signal.aborted) close()
      // The answer begins when everything is watched, so that changes the client makes from then on are reported.
      let cancel = () => {}
      const late = new Promise<void>(resolve => (cancel = clock.after(patienceMs, resolve)))
      await Promise.race([tree.ready, late])
      cancel()
      const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-accel-buffering': 'no' }
      return reply(200, headers, feed.pump)
    }),
  ]
}
