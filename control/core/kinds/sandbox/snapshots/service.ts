/** What is done with the files of sandboxes: cut, given back, and removed when nobody has them any more. */
import type { Closing } from '../../../../../shared/closing.ts'
import { fail, messageOf } from '../../../../../shared/errors.ts'
import { keyedMutex } from '../../../../../shared/sync.ts'
import type { Committed, Snapshotter } from '../../../../drivers/snapshotter.ts'
import { onNewest, type Transition } from '../../../transitions/transition.ts'
import type { Instance, Resource, Written } from '../../../store/store.ts'
import { createCheckpoints, type Checkpoints } from './checkpoints.ts'
import { machineOf, type Context, type ServiceDeps } from './context.ts'
import { forsakeUnasked, restoreTo, type Restored } from './restore.ts'
import { storedSnapshot } from './stored.ts'
import { createSweep } from './sweep.ts'

export interface SnapshotService {
  /** Makes the files of a record that is pending. Throws what kept it from that; the record is gone then. */
  cut(uid: string): Promise<void>
  /** Copies the files of a machine that is up under an id that no record has: whoever asks says when they go. */
  copy(id: string, instance: Instance): Promise<Committed>
  /** Gives a sandbox the files of that id. Resolves when its machine has come up, with these or its own. */
  restore(sandbox: Resource, id: string, by: string): Promise<Restored>
  snapshotterOf(instance: Pick<Instance, 'driver'>): Snapshotter
  /** One change of a sandbox's files at a time. */
  alone<T>(sandbox: string, task: () => Promise<T>): Promise<T>
  readonly checkpoints: Checkpoints
  /** To be told of everything that is written. */
  written(written: Written): void
  /** Brings what an earlier host has left half-done to an end: a part before machines are looked after, which `begin` does, the rest then. */
  around(begin: () => Promise<void>): Promise<void>
}

const copy = async (context: Context, id: string, instance: Instance): Promise<Committed> => {
  const { snapshotterOf, underWay, still } = context
  const snapshotter = snapshotterOf(instance)
  underWay.add(id)
  try {
    await snapshotter.prepare(id, instance.id)
    return await snapshotter.commit(id, instance.id, step => still(instance.id, step))
  } catch (error) {
    await snapshotter.remove(id)
    throw error
  } finally {
    underWay.delete(id)
  }
}

/** Moves a record that is there still; false when it is gone. */
const settle = async (
  { store, transition }: Context,
  uid: string,
  of: (record: Resource) => Parameters<Transition['write']>[0],
): Promise<boolean> =>
  onNewest(async () => {
    const record = await store.resources.getByUid(uid)
    if (record) await transition.write(of(record))
    return record !== undefined
  })

const made = (record: Resource, { bytes, pauseMs }: Committed) => [
  {
    record,
    event: { name: 'made', message: `saved; the sandbox stood still for ${pauseMs} ms` },
    change: { spec: { ...record.spec, bytes, pauseMs } },
  },
]

const cut = async (context: Context, uid: string): Promise<void> => {
  const { store, log } = context
  const record = await store.resources.getByUid(uid)
  if (!record) throw fail('not_found', { kind: 'snapshot', name: uid })
  const { source, image } = storedSnapshot(record)
  try {
    const sandbox = await store.resources.getByUid(source.uid)
    if (!sandbox) throw fail('not_found', { kind: 'sandbox', name: source.name })
    const instance = await machineOf(context, sandbox)
    // What it was asked for has been replaced since.
    if (instance.image?.digest !== image.digest) throw fail('changed_meanwhile', { kind: 'sandbox', name: source.name })
    const committed = await copy(context, uid, instance)
    await settle(context, uid, now => made(now, committed))
  } catch (error) {
    log.warn('snapshot.failed', { snapshot: uid, source: source.name, reason: messageOf(error) })
    await settle(context, uid, now => [{ remove: now }])
    throw error
  }
}

/** What was being made when a host was killed is whole, or is not. */
const resume = async (context: Context): Promise<void> => {
  const { store, drivers, log } = context
  const unreadable = (record: string, error: unknown) => log.error('record.unreadable', { record, error })
  for (const { uid, status } of await store.resources.everyOf('snapshot', unreadable)) {
    if (status !== 'pending') continue
    const { snapshotter } = drivers.preferred
    const bytes = await snapshotter?.usage(uid).catch(() => undefined)
    const message = 'the host ended while it was made'
    await settle(context, uid, record =>
      bytes === undefined
        ? [{ record, event: { name: 'broke', message } }]
        : [{ record, event: { name: 'made', message: 'saved' }, change: { spec: { ...record.spec, bytes } } }],
    )
  }
}

/** Registers what ends with it. */
export const createSnapshots = (deps: ServiceDeps, closer: Closing): SnapshotService => {
  const { drivers } = deps
  const underWay = new Set<string>()
  const context: Context = {
    ...deps,
    underWay,
    snapshotterOf({ driver }) {
      const { snapshotter, name } = drivers.need(driver)
      if (!snapshotter) throw fail('not_available', { what: `snapshots: driver ${name} makes none on this box` })
      return snapshotter
    },
  }
  const sweep = createSweep(context)
  closer.add('snapshots', sweep.close)
  const turns = keyedMutex()
  const verbs: Pick<SnapshotService, 'alone' | 'copy' | 'restore'> = {
    copy: (id, instance) => copy(context, id, instance),
    restore: (sandbox, id, by) => restoreTo(context, sandbox, id, by),
    alone: (sandbox, task) => turns(sandbox, task),
  }
  return {
    ...verbs,
    checkpoints: createCheckpoints({ ...context, ...verbs }),
    cut: uid => cut(context, uid),
    snapshotterOf: context.snapshotterOf,
    written: sweep.written,
    async around(begin) {
      await forsakeUnasked(context)
      await begin()
      await resume(context)
      sweep.begin()
    },
  }
}
