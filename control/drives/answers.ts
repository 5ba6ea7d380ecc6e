/**
 * The drive routes of the per-sandbox API, answered by the host in the daemon's place: a daemon that could mount would
 * need CAP_SYS_ADMIN and the mount calls in the filter of its machine, where every tenant process would have them too.
 */
import { once } from 'node:events'
import { createDrives } from '../../shared/drives/drives.ts'
import { driveBounds } from '../../shared/drives/routes.ts'
import type { Clock } from '../../shared/clock.ts'
import { dispatcher, type Dispatcher } from '../../shared/http/dispatch.ts'
import { matcher } from '../../shared/http/match.ts'
import { decodePath } from '../../shared/http/request.ts'
import { listener } from '../../shared/http/server.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import { json, type Request } from '../../shared/route.ts'
import { keyedMutex } from '../../shared/sync.ts'
import { sandboxHeaders } from '../../shared/wire/sandbox-headers.ts'
import type { Mounter } from '../drivers/driver.ts'
import type { Answers } from '../gateway/answers.ts'
import type { Upstream } from '../gateway/resolve.ts'
import type { Resource } from '../store/store.ts'
import { driveOwnerOf } from './owner.ts'
import { hostDrives } from './provider.ts'

export interface DriveAnswersDeps {
  readonly mounter: Mounter
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

/** Where the daemon lives and keeps what it must not lose. */
const reserved = ['/.hutch', '/.hutch-drives', '/var/lib/hutchd']

const partsOf = (target: string): Pick<Request, 'rawPath' | 'path' | 'search' | 'rawQuery'> => {
  const cut = target.indexOf('?')
  const rawPath = cut < 0 ? target : target.slice(0, cut)
  const rawQuery = cut < 0 ? '' : target.slice(cut + 1)
  return { rawPath, path: decodePath(rawPath), search: new URLSearchParams(rawQuery), rawQuery }
}

/** `base` is the real path of the directory of drives. */
export const driveAnswers = (base: string, { mounter, clock, ids, log }: DriveAnswersDeps): Answers => {
  const locks = keyedMutex()
  const bounds = driveBounds(({ facts }) => {
    const { uid, workspace, name } = facts['sandbox'] as Resource
    return createDrives({
      provider: hostDrives({ base, workspace, machine: uid, mounter }),
      reserved,
      maps: () => driveOwnerOf(name, facts['upstream'] as Upstream),
      alone: (path, task) => locks(`${uid} ${path}`, task),
    })
  })
  const routes = matcher(bounds, 'whole')

  const answering = (row: Resource, upstream: Upstream, target: string): Dispatcher => {
    const inner = dispatcher(
      bounds,
      {
        decoding: 'whole',
        headers: sandboxHeaders,
        renderError: error => json({ error: error.message }, { status: error.status }),
        before: () => ({ sandbox: row, upstream }),
      },
      { log, ids, elapsed: clock.elapsed },
    )
    return {
      bounds,
      dispatch: (request, signal) => inner.dispatch({ ...request, ...partsOf(target) }, signal),
    }
  }

  return {
    takes(method, target) {
      const { rawPath, path } = partsOf(target)
      return routes.match(method, rawPath, path) !== undefined
    },
    async answer({ row, target, upstream, request, response }) {
      // A client that has gone has had its 'close'; no other one would come.
      if (response.destroyed) return
      const closed = once(response, 'close')
      listener(answering(row, upstream, target), { log }).request(request, response)
      await closed
    },
  }
}
