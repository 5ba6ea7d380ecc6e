/**
 * The drive routes of the per-sandbox API, answered by the host in the daemon's place: a daemon that could mount would
 * need CAP_SYS_ADMIN and the mount calls in the filter of its machine, where every tenant process would have them too.
 */
import { once } from 'node:events'
import { driveBounds } from '../../../shared/drives/routes.ts'
import type { Clock } from '../../../shared/clock.ts'
import { dispatcher, type Dispatcher } from '../../../shared/http/dispatch.ts'
import { matcher } from '../../../shared/http/match.ts'
import { listener } from '../../../shared/http/server.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import { json } from '../../../shared/route.ts'
import { sandboxHeaders } from '../../../shared/wire/sandbox-headers.ts'
import type { Answers } from './gateway/answers.ts'
import { partsOf } from './target-parts.ts'
import type { Address, Instance } from '../../core/store/store.ts'
import type { MachineDrives } from '../../core/storage/drives/machine-drives.ts'

interface Deps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

/** Machines of a driver that cannot mount answer for themselves. */
export const driveAnswers = (drives: MachineDrives, { clock, ids, log }: Deps): Answers => {
  const bounds = driveBounds(({ facts }) => {
    const of = drives(facts['instance'] as Instance)
    if (!of) throw new Error('asked for a machine that this host mounts nothing in')
    return of(facts['upstream'] as Address)
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
      dispatch: (request, client) => inner.dispatch({ ...request, ...partsOf(target) }, client),
    }
  }

  return {
    takes(instance, method, target) {
      const { rawPath, path } = partsOf(target)
      return routes.match(method, rawPath, path) !== undefined && drives(instance) !== undefined
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
