/**
 * Keeps what is on the disk in step with the records of volumes: room is kept for each of them, and files of those that are gone are
 * removed. Level-triggered: it looks at everything when the host starts, and at what was written since.
 */
import type { Closing } from '../../../../shared/closing.ts'
import type { Log } from '../../../../shared/log.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import type { Volumes } from '../../../drivers/volumes.ts'
import type { Transition } from '../../transitions/transition.ts'
import type { Resource, Store, Written } from '../../store/store.ts'
import { sizeMbOf, storedVolume, volumeKindName } from './records.ts'

export interface KeeperDeps {
  readonly store: Pick<Store, 'resources'>
  readonly volumes: Volumes
  readonly transition: () => Transition
  readonly log: Log
}

export interface VolumeKeeper {
  /** To be told of everything that is written. */
  written(written: Pick<Written, 'resources' | 'removed'>): void
  /** Looks at all of them, once. */
  start(): Promise<void>
}

/** A record of a host that stored no volumes yet. */
const takeOver = async ({ transition, log }: KeeperDeps, record: Resource): Promise<void> => {
  if (record.status !== 'FAILED' || storedVolume(record).template) return
  try {
    await transition().write([{ record, event: { name: 'served', message: 'this host stores volumes now' } }])
  } catch (error) {
    log.warn('volume.left', { volume: record.uid, error })
  }
}

export const createVolumeKeeper = (deps: KeeperDeps, closer: Closing): VolumeKeeper => {
  const { store, volumes, log } = deps
  const alone = keyedMutex()
  const underWay = new Set<Promise<void>>()

  const look = async (uid: string): Promise<void> => {
    const record = await store.resources.getByUid(uid)
    if (record) await volumes.promise(uid, sizeMbOf(record))
    else await volumes.remove(uid)
  }

  const later = (uid: string): void => {
    const task = alone(uid, () => look(uid)).catch((error: unknown) =>
      log.warn('volume.failed', { volume: uid, error }),
    )
    underWay.add(task)
    void task.finally(() => underWay.delete(task))
  }

  closer.add('volumes', async () => void (await Promise.all(underWay)))

  return {
    written({ resources, removed }) {
      for (const { kind, uid } of [...resources, ...removed]) if (kind === volumeKindName) later(uid)
    },
    async start() {
      const unreadable = new Set<string>()
      const records = await store.resources.everyOf(volumeKindName, uid => void unreadable.add(uid))
      for (const record of records) await takeOver(deps, record)
      const known = new Set([...unreadable, ...records.map(({ uid }) => uid)])
      const strays = (await volumes.list()).filter(id => !known.has(id))
      for (const id of [...known, ...strays]) if (!unreadable.has(id)) later(id)
    },
  }
}
