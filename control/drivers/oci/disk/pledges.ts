/**
 * What machines were promised of the disk. The file of a machine's disk takes of the box what the machine has written; it may grow to
 * what was promised, so no more is promised than the disk has, less a reserve for the host's own records.
 */
import { statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Room } from '../../driver.ts'
import { filesOf } from '../layout.ts'
import { bytesPerMb } from './shape.ts'

export interface Pledges {
  room(): Promise<Room>
  /** Promises a machine so much, whatever it was promised before. Throws `no_room` when it is more and not there. */
  promise(id: string, mb: number): Promise<void>
  forget(id: string): void
}

export interface PledgesInput {
  readonly dataDir: string
  readonly reserveMb: number
  /** Of the machines there are, MB by id. */
  readonly promised: ReadonlyMap<string, number>
}

interface Seen {
  readonly freeMb: number
  readonly usedMb: number
}

/** A look at the disk is as old as this, ms: a burst of machines does not look for each. */
const freshMs = 500
const retryAfterS = 60

export const openPledges = ({ dataDir, reserveMb, promised: given }: PledgesInput, clock: Clock): Pledges => {
  const promised = new Map(given)
  let last: { readonly at: number; readonly seen: Promise<Seen> } | undefined

  // Known to the kernel: a promise of it takes the server ten times as long, and there may be a thousand.
  const usedBytes = (id: string): number =>
    (statSync(filesOf(dataDir, id).disk, { throwIfNoEntry: false })?.blocks ?? 0) * 512

  const look = async (): Promise<Seen> => {
    const { bavail, bsize } = await statfs(dataDir)
    const used = [...promised.keys()].reduce((sum, id) => sum + usedBytes(id), 0)
    return { freeMb: (bavail * bsize) / bytesPerMb, usedMb: used / bytesPerMb }
  }

  const seen = async () => {
    if (!last || clock.elapsed() - last.at > freshMs) last = { at: clock.elapsed(), seen: look() }
    return last.seen
  }

  const roomIn = ({ freeMb, usedMb }: Seen): Room => {
    const all = [...promised.values()].reduce((sum, mb) => sum + mb, 0)
    return { freeMb: Math.floor(freeMb + usedMb - reserveMb - all), usedMb: Math.round(usedMb), promised }
  }

  return {
    room: async () => roomIn(await seen()),
    async promise(id, mb) {
      const looked = await seen()
      // From here on nobody else is promised anything.
      const left = Math.max(0, roomIn(looked).freeMb)
      const more = mb - (promised.get(id) ?? 0)
      if (more > left) throw fail('no_room', { wantedMb: more, freeMb: left, retryAfterS })
      promised.set(id, mb)
    },
    forget: id => void promised.delete(id),
  }
}
