/** Removes files of snapshots without a record, and marks snapshots whose source is gone. */
import { poll } from './poll.ts'
import type { Resource, Written } from '../../../store/store.ts'
import { checkpointsOf, timelineOf } from './timeline.ts'
import { storedSandbox } from '../stored.ts'
import { isOver, type Context } from './context.ts'
import { storedSnapshot } from './stored.ts'

/** A sandbox that waits for its machine needs the files that it begins with, also when their record is gone. */
const isAwaited = async ({ store, log }: Context, id: string): Promise<boolean> => {
  const sandboxes = await store.resources.everyOf('sandbox', (record, error) =>
    log.error('record.unreadable', { record, error }),
  )
  for (const one of sandboxes) {
    if (storedSandbox(one).from?.snapshot !== id || isOver(one) || one.status === 'FAILED') continue
    const instances = await store.instances.ofOwner(one.uid)
    if (instances.every(({ startedAt }) => startedAt === undefined)) return true
  }
  return false
}

/** Checkpoints and archives are called after their sandbox: `<uid>_<id>`. */
const ownerOfCopy = (id: string): string | undefined => /^(.{36})_/.exec(id)?.[1]

const isWanted = async (context: Context, id: string): Promise<boolean> => {
  const { store, underWay } = context
  if (underWay.has(id)) return true
  const uid = ownerOfCopy(id)
  if (uid !== undefined) {
    const owner = await store.resources.getByUid(uid)
    return !isOver(owner) && checkpointsOf(owner as Resource).has(id)
  }
  const record = await store.resources.getByUid(id)
  if (record?.kind === 'snapshot') return record.status !== 'failed'
  return isAwaited(context, id)
}

/** One that cannot be removed now is tried at the next look. */
const removeUnwanted = async (context: Context): Promise<void> => {
  const { drivers, log } = context
  for (const { snapshotter } of drivers.open)
    for (const { id } of (await snapshotter?.list()) ?? [])
      try {
        if (await isWanted(context, id)) continue
        await snapshotter?.remove(id)
        log.info('snapshot.removed', { snapshot: id })
      } catch (error) {
        log.warn('snapshot.stays', { snapshot: id, error })
      }
}

const noteSources = async ({ store, transition, log }: Context): Promise<void> => {
  const unreadable = (record: string, error: unknown) => log.error('record.unreadable', { record, error })
  for (const record of await store.resources.everyOf('snapshot', unreadable)) {
    const { source } = storedSnapshot(record)
    if (source.deleted || !isOver(await store.resources.getByUid(source.uid))) continue
    const spec = { ...record.spec, source: { ...source, deleted: true } }
    await transition.write([{ record, change: { spec } }])
  }
}

const everyMs = 60_000

export interface Sweep {
  begin(): void
  written(written: Written): void
  close(): Promise<void>
}

export const createSweep = (context: Context): Sweep => {
  const { clock, log } = context
  const look = async () => {
    try {
      await noteSources(context)
      await removeUnwanted(context)
    } catch (error) {
      log.warn('snapshots.unswept', { error })
    }
  }
  const { soon, close } = poll(look, { clock, everyMs })
  let begun = false
  return {
    begin() {
      begun = true
      soon()
    },
    written({ resources, removed }: Written) {
      const matters =
        removed.some(({ kind }) => kind === 'snapshot' || kind === 'sandbox') ||
        resources.some(record => record.kind === 'sandbox' && (isOver(record) || timelineOf(record).length > 0))
      if (begun && matters) soon()
    },
    close,
  }
}
