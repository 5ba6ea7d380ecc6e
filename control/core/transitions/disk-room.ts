/**
 * New records that want room on the box's disk. Whoever is let in has the room until the record's machine has been promised it; what is
 * not there is refused at once, while somebody can still be told.
 */
import { fail } from '../../../shared/errors.ts'
import type { Storage } from '../../drivers/storage.ts'
import { isUp } from './instance-life.ts'
import type { Written } from '../store/store.ts'

export interface DiskRoom {
  /** To be told of everything that is written. */
  written(written: Pick<Written, 'resources' | 'instances' | 'removed'>): void
  /** Throws `no_room` when there is none for a new record of that uid, which wants `mb`. */
  admit(uid: string, mb: number): Promise<void>
  /** It was not written. */
  leave(uid: string): void
  /** Throws `no_room` when a record that is there cannot have `more` MB. */
  check(more: number): Promise<void>
}

interface Waiting {
  readonly mb: number
  /** Machines that are made for it. */
  readonly machines: Set<string>
}

const retryAfterS = 60

export const diskRoom = ({ storage }: { storage: Pick<Storage, 'room'> }): DiskRoom => {
  const waiting = new Map<string, Waiting>()

  /** Throws, or lets `take` have it before anybody else is looked at. */
  const need = async (wantedMb: number, take: () => void): Promise<void> => {
    const { freeMb, promised } = await storage.room()
    // A machine that was made ahead of need has a part of it.
    const missing = ({ mb, machines }: Waiting) =>
      Math.max(
        0,
        [...machines].reduce((left, id) => left - (promised.get(id) ?? 0), mb),
      )
    const spoken = [...waiting.values()].reduce((sum, one) => sum + missing(one), 0)
    const left = Math.max(0, freeMb - spoken)
    if (wantedMb > left) throw fail('no_room', { wantedMb, freeMb: left, retryAfterS })
    take()
  }

  return {
    written({ resources, instances, removed }) {
      for (const instance of instances) {
        const { owner, id } = instance
        if (isUp(instance)) waiting.delete(owner.uid)
        else waiting.get(owner.uid)?.machines.add(id)
      }
      // What has come to an end before it had a machine.
      for (const { uid, status } of resources) if (status !== 'DEPLOYING') waiting.delete(uid)
      for (const { uid } of removed) waiting.delete(uid)
    },
    admit: (uid, mb) => need(mb, () => waiting.set(uid, { mb, machines: new Set() })),
    leave: uid => void waiting.delete(uid),
    check: more => need(more, () => {}),
  }
}
