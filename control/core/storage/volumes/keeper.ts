/**
 * Keeps what is on the disk in step with the records of volumes: room is kept for each of them, and files of those that are gone are
 * removed. Level-triggered: it looks at everything when the host starts, and at what was written since.
 */
import type { Closing } from '../../../../shared/closing.ts'
import type { Log } from '../../../../shared/log.ts'
import { messageOf } from '../../../../shared/errors.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import type { Volumes } from '../../../drivers/volumes.ts'
import { onNewest, type Transition } from '../../transitions/transition.ts'
import type { Resource, Store, Written } from '../../store/store.ts'
import type { TemplateContents } from './templates.ts'
import { sizeMbOf, storedVolume, volumeKindName } from './records.ts'

export interface KeeperDeps {
  readonly store: Pick<Store, 'resources'>
  readonly volumes: Volumes
  readonly contents: TemplateContents
  /** Name of the kind of templates. */
  readonly templateKind: string
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

/** Puts the contents of its template into a new one. */
const fill = async (deps: KeeperDeps, record: Resource, signal: AbortSignal): Promise<void> => {
  const { volumes, contents, transition, store } = deps
  const { uid, workspace } = record
  const { template = '' } = storedVolume(record)
  const say = (name: string, message: string) =>
    onNewest(async () => {
      const now = await store.resources.getByUid(uid)
      if (now?.status === 'DEPLOYING') await transition().write([{ record: now, event: { name, message } }])
    })
  try {
    await contents.use(workspace, template, from => volumes.fill(uid, sizeMbOf(record), from, signal))
  } catch (error) {
    // The next start of the host goes on.
    if (signal.aborted) return
    return say('broke', `cannot be made of ${template}: ${messageOf(error)}`)
  }
  await say('filled', `made of ${template}`)
}

export const createVolumeKeeper = (deps: KeeperDeps, closer: Closing): VolumeKeeper => {
  const { store, volumes, contents, templateKind, log } = deps
  const alone = keyedMutex()
  const underWay = new Set<Promise<void>>()

  const stop = new AbortController()

  const look = async (uid: string): Promise<void> => {
    const record = await store.resources.getByUid(uid)
    if (!record) return volumes.remove(uid)
    if (record.status === 'DEPLOYING') return fill(deps, record, stop.signal)
    await volumes.promise(uid, sizeMbOf(record))
  }

  const later = (uid: string, work: (uid: string) => Promise<void> = look): void => {
    const task = alone(uid, () => work(uid)).catch((error: unknown) =>
      log.warn('volume.failed', { volume: uid, error }),
    )
    underWay.add(task)
    void task.finally(() => underWay.delete(task))
  }

  closer.add('volumes', async () => {
    stop.abort()
    await Promise.all(underWay)
  })

  return {
    written({ resources, removed }) {
      for (const { kind, uid } of [...resources, ...removed]) {
        if (kind === volumeKindName) later(uid)
        if (kind === templateKind) later(uid, contents.tidy)
      }
    },
    async start() {
      const unreadable = new Set<string>()
      const records = await store.resources.everyOf(volumeKindName, uid => void unreadable.add(uid))
      for (const record of records) await takeOver(deps, record)
      const known = new Set([...unreadable, ...records.map(({ uid }) => uid)])
      const strays = (await volumes.list()).filter(id => !known.has(id))
      for (const id of [...known, ...strays]) if (!unreadable.has(id)) later(id)
      const templates = new Set<string>()
      await store.resources.everyOf(templateKind, uid => void templates.add(uid))
      for (const uid of await contents.list()) if (!templates.has(uid)) later(uid, contents.tidy)
    },
  }
}
