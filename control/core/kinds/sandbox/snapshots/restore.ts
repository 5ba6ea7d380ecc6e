/** A sandbox goes back to files that were saved, and keeps its own until a daemon has answered with the others. */
import { fail } from '../../../../../shared/errors.ts'
import { instanceLife } from '../../../transitions/instance-life.ts'
import { onNewest } from '../../../transitions/transition.ts'
import type { Instance, Resource } from '../../../store/store.ts'
import { machineOf, type Context } from './context.ts'

export interface Restored {
  /** How long it was away, ms: from the end of what ran to the answer of its daemon. */
  readonly awayMs: number
}

const boundMs = 120_000

/** The machine once it has come up again: another start than the one before. */
const untilBack = ({ store, changes }: Context, owner: Resource, before: Instance): Promise<Instance> =>
  changes.until(
    owner.uid,
    async () => {
      const now = await store.instances.get(before.id)
      if (!now || now.status === 'stopping') throw fail('changed_meanwhile', { kind: 'sandbox', name: owner.name })
      return now.status === 'running' && now.startedAt !== before.startedAt ? now : undefined
    },
    { what: `restoring sandbox "${owner.name}"`, boundMs },
  )

export const restoreTo = async (context: Context, owner: Resource, id: string, by: string): Promise<Restored> => {
  const { transition, store, snapshotterOf, poke, clock, log } = context
  const instance = await machineOf(context, owner)
  const snapshotter = snapshotterOf(instance)
  await snapshotter.restore(id, instance.id)
  const begun = clock.elapsed()
  const restarting = onNewest(async () => {
    const [record, now] = [await store.resources.getByUid(owner.uid), await store.instances.get(instance.id)]
    if (!record || !now || !instanceLife.allows(now.status, 'restart'))
      throw fail('wrong_state', {
        kind: 'sandbox',
        name: owner.name,
        state: record?.status ?? 'gone',
        wanted: 'a restore',
      })
    const event = { name: 'restart', message: `restored by ${by}` }
    await transition.write([
      { record, event },
      { instance: now, event: 'restart' },
    ])
    return now
  })
  // Nobody has asked for a start that would take them.
  const before = await restarting.catch(async (error: unknown) => {
    await snapshotter.forsake(instance.id)
    throw error
  })
  poke(owner.kind, owner.uid)
  await untilBack(context, owner, before)
  const awayMs = Math.round(clock.elapsed() - begun)
  if ((await snapshotter.origin(instance.id)) !== id)
    throw fail('operation_failed', {
      reason: `sandbox "${owner.name}" did not come up with those files; it has its own again`,
    })
  log.info('sandbox.restored', { instance: instance.id, name: owner.name, snapshot: id, awayMs })
  return { awayMs }
}

/**
 * A host that was killed before it had asked for the start leaves files beside those of a machine, which a start for another reason must not
 * take. To be called before machines are looked after.
 */
export const forsakeUnasked = async ({ drivers, store, log }: Context): Promise<void> => {
  for (const { snapshotter } of drivers.open)
    for (const machine of (await snapshotter?.laid()) ?? []) {
      const status = (await store.instances.get(machine))?.status ?? ''
      if (['restarting', 'starting'].includes(status)) continue
      await snapshotter?.forsake(machine)
      log.info('restore.forsaken', { instance: machine })
    }
}
