/** Everything that keeps the sandboxes of a host as their records say: reconciler, census, standby. */
import type { Clock } from '../../shared/clock.ts'
import type { Closing } from '../../shared/closing.ts'
import type { Log } from '../../shared/log.ts'
import type { Driver } from '../drivers/driver.ts'
import { census } from './census.ts'
import { changes, type Changes } from '../reconcile/changes.ts'
import { reconcileLoop } from '../reconcile/loop.ts'
import { records } from './record.ts'
import { sandboxReconciler, type Plan } from './reconciler.ts'
import { standby, type Standby } from './standby.ts'
import type { Store } from '../store/store.ts'
import { keepAliveCount } from './keep-alive.ts'

export interface Sandboxes {
  readonly standby: Standby
  readonly changes: Changes
  poke(uid: string): void
  /** Looks at the box, removes orphans, adopts what runs, and starts the loops. Call once, before serving. */
  start(): Promise<void>
}

export interface SandboxesDeps {
  readonly store: Store
  readonly driver: Driver
  readonly clock: Clock
  readonly log: Log
  readonly closing: Closing
  readonly plan: Plan
  /** A sandbox's machine is gone; connections to it are of no use. */
  readonly onDown: (host: string) => void
}

/** Starts at once: the driver limits what the box can bear. */
const concurrency = 32
const surveyEveryMs = 5_000

export const sandboxes = (options: { standbyAfterMs: number }, deps: SandboxesDeps): Sandboxes => {
  const { store, driver, clock, log, closing, plan, onDown } = deps
  const changed = changes()
  const known = census({ driver, store, log })
  const records_ = records({ store, clock, changes: changed })
  const sleeping = standby(
    { afterMs: options.standbyAfterMs },
    { store, driver, clock, log, records: records_, keepAlive: keepAliveCount(store) },
  )
  const loop = reconcileLoop(
    sandboxReconciler({
      store,
      driver,
      clock,
      log,
      plan,
      records: records_,
      found: known.found,
      async onUp(row, machine) {
        known.add(machine)
        await sleeping.up(row, machine)
      },
      onDown(uid) {
        const host = known.found(uid)?.address?.host
        if (host) onDown(host)
        known.forget(uid)
        sleeping.down(uid)
      },
    }),
    { name: 'sandboxes', concurrency },
    { clock, log },
  )
  const surveyOnce = async () => {
    for (const uid of await known.survey()) loop.poke(uid)
  }

  return {
    standby: sleeping,
    changes: changed,
    poke: loop.poke,
    async start() {
      await known.survey()
      const rows = await store.resources.everyOf('sandbox')
      for (const row of rows) {
        const machine = known.found(row.uid)
        if (row.status === 'DEPLOYED' && machine) await sleeping.up(row, machine)
      }
      for (const row of rows) loop.poke(row.uid)
      let surveying: Promise<void> | undefined
      const stop = clock.every(surveyEveryMs, () => {
        surveying ??= surveyOnce()
          .catch(error => log.warn('survey.failed', { error }))
          .finally(() => {
            surveying = undefined
          })
      })
      closing.add('standby', sleeping.close)
      closing.add('reconciler', loop.close)
      closing.add('survey', async () => {
        stop()
        await surveying
      })
    },
  }
}
