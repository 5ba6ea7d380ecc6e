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
import type { Connections } from '../channel/connections.ts'
import type { Answers } from '../gateway/answers.ts'
import type { Mounter } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Address, Instance } from '../store/store.ts'
import { driveOwnerOf } from './owner.ts'
import { hostDrives } from './provider.ts'

export interface DriveAnswersDeps {
  readonly drivers: Drivers
  readonly connections: Connections
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

/** `base` is the real path of the directory of drives. Machines of a driver that cannot mount answer for themselves. */
export const driveAnswers = (base: string, { drivers, connections, clock, ids, log }: DriveAnswersDeps): Answers => {
  const locks = keyedMutex()
  const mounterOf = ({ driver }: Instance) => drivers.need(driver).mounter
  const bounds = driveBounds(({ facts }) => {
    const instance = facts['instance'] as Instance
    const { workspace, name } = instance.owner
    const mounter = mounterOf(instance) as Mounter
    return createDrives({
      provider: hostDrives({ base, workspace, machine: instance.id, mounter }),
      reserved,
      maps: () => driveOwnerOf(connections, name, facts['upstream'] as Address),
      alone: (path, task) => locks(`${instance.id} ${path}`, task),
    })
  })
  const routes = matcher(bounds, 'whole')

  const answering = (instance: Instance, upstream: Address, target: string): Dispatcher => {
    const inner = dispatcher(
      bounds,
      {
        decoding: 'whole',
        headers: sandboxHeaders,
        renderError: error => json({ error: error.message }, { status: error.status }),
        before: () => ({ instance, upstream }),
      },
      { log, ids, elapsed: clock.elapsed },
    )
    return {
      bounds,
      dispatch: (request, signal) => inner.dispatch({ ...request, ...partsOf(target) }, signal),
    }
  }

  return {
    takes(instance, method, target) {
      const { rawPath, path } = partsOf(target)
      return routes.match(method, rawPath, path) !== undefined && mounterOf(instance) !== undefined
    },
    async answer({ instance, target, upstream, request, response }) {
      // A client that has gone has had its 'close'; no other one would come.
      if (response.destroyed) return
      const closed = once(response, 'close')
      listener(answering(instance, upstream, target), { log }).request(request, response)
      await closed
    },
  }
}
