/** What machines in memory were promised of a disk that is a number. */
import { fail } from '../../../shared/errors.ts'
import type { MachineSpec } from '../driver.ts'
import type { Room, Share } from '../storage.ts'

interface World {
  readonly machines: ReadonlyMap<string, { readonly spec: MachineSpec }>
  /** MB. */
  readonly diskMb: number
}

export const room = ({ machines, diskMb }: World): Room => {
  const promised = new Map([...machines].map(([id, { spec }]) => [id, spec.storageMb ?? 0]))
  return { freeMb: diskMb - [...promised.values()].reduce((sum, mb) => sum + mb, 0), usedMb: 0, promised }
}

export const share = ({ machines }: World, id: string): Share | undefined => {
  const mb = machines.get(id)?.spec.storageMb
  return mb === undefined ? undefined : { usedBytes: 0, mostBytes: mb * 1024 * 1024 }
}

/** Throws `no_room` when the machine cannot have so much. */
export const promise = (world: World, { id, storageMb = 0 }: Pick<MachineSpec, 'id' | 'storageMb'>): void => {
  const { freeMb, promised } = room(world)
  const wantedMb = storageMb - (promised.get(id) ?? 0)
  if (wantedMb > freeMb) throw fail('no_room', { wantedMb, freeMb, retryAfterS: 60 })
}
