/**
 * What machines were promised of the disk. The file of a machine's disk takes of the box what the machine has written; it may grow to
 * what was promised, so no more is promised than the disk has, less a reserve for the host's own records.
 */
import { statfsSync } from 'node:fs'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Room } from '../../storage.ts'
import type { Neighbours } from './neighbours.ts'
import { bytesPerMb } from './shape.ts'
import { usedBytes } from './used.ts'

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
  readonly neighbours: Neighbours
}

interface Seen {
  /** Less what is promised by others. */
  readonly freeMb: number
  readonly usedMb: number
  readonly owedMb: number
}

/** A look at the disk is as old as this, ms: a burst of machines does not look for each. */
const freshMs = 500
/**
 * One that left so much, MB, serves for so long, ms, where nothing is told to others: it asks for the file of each machine of the box, a
 * millisecond for some hundred, and whoever creates a sandbox waits for it. What machines write since takes nothing of what is left: they were
 * promised it.
 */
const [plentyMb, plentyMs] = [16_384, 10_000]
const retryAfterS = 60
/**
 * Told beyond what is promised: a claim promises a machine more than it was made with, and would write the list of all anew, and read those
 * of the others. A part of what is free, MB at most.
 */
const aheadShare = 1 / 16
const mostAheadMb = 16_384
const aheadOf = (freeMb: number): number => Math.max(0, Math.min(mostAheadMb, Math.floor(freeMb * aheadShare)))

/** How full the disk is, and what is left of it when all have what they were promised by now. */
const createLook = ({ dataDir, reserveMb, promised, neighbours }: PledgesInput, clock: Clock) => {
  let last: { readonly at: number; readonly seen: Promise<Seen> } | undefined
  /** What came of it. */
  let found: Seen | undefined

  const look = async (): Promise<Seen> => {
    const { bavail, bsize } = statfsSync(dataDir)
    const used = [...promised.keys()].reduce((sum, id) => sum + usedBytes(dataDir, id), 0)
    const owedMb = await neighbours.owedMb()
    found = { freeMb: (bavail * bsize) / bytesPerMb - owedMb, usedMb: used / bytesPerMb, owedMb }
    return found
  }

  const roomIn = ({ freeMb, usedMb }: Seen): Room => {
    const all = [...promised.values()].reduce((sum, mb) => sum + mb, 0)
    return { freeMb: Math.floor(freeMb + usedMb - reserveMb - all), usedMb: Math.round(usedMb), promised }
  }

  const isPlenty = (): boolean => found !== undefined && roomIn(found).freeMb >= plentyMb

  /** `isTold`: nobody else has to hear of what follows. */
  const seen = async (isTold: boolean): Promise<Seen> => {
    const age = last ? clock.elapsed() - last.at : Infinity
    if (last && (age <= freshMs || (isTold && age <= plentyMs && isPlenty()))) return last.seen
    found = undefined
    last = { at: clock.elapsed(), seen: look() }
    return last.seen
  }

  return { seen, roomIn }
}

export const openPledges = (
  { dataDir, reserveMb, promised: given, neighbours }: PledgesInput,
  clock: Clock,
): Pledges => {
  const promised = new Map(given)
  /** Of what was told, what is not promised yet and is known to be there. */
  let aheadMb = 0
  let words = 0
  /** Gives the number of this word. */
  const tell = (ahead: number): number => {
    neighbours.tell(promised, ahead)
    return ++words
  }
  tell(0)
  const { seen, roomIn } = createLook({ dataDir, reserveMb, promised, neighbours }, clock)

  return {
    room: async () => roomIn(await seen(true)),
    async promise(id, mb) {
      const before = promised.get(id)
      const more = mb - (before ?? 0)
      // A claim asks for what its machine has mostly: nothing to look at, and nothing to tell.
      if (before !== undefined && more === 0) return
      const looked = await seen(more <= aheadMb)
      const need = (freeMb: number): void => {
        const left = Math.max(0, freeMb)
        if (more > left) throw fail('no_room', { wantedMb: more, freeMb: left, retryAfterS })
      }
      need(roomIn(looked).freeMb)
      // From here on nobody else is promised it.
      promised.set(id, mb)
      if (more > 0 && more <= aheadMb) return void (aheadMb -= more)
      const leftMb = roomIn(looked).freeMb
      const ahead = more > 0 ? aheadOf(leftMb) : aheadMb
      if (more > 0) aheadMb = 0
      const word = tell(ahead)
      if (more <= 0) return
      // Another server may have promised it since the look: of two that have told it, one at least sees the other here.
      try {
        const stillMb = leftMb + looked.owedMb - (await neighbours.owedMb())
        need(stillMb + more)
        // A later word has said something else.
        if (word !== words) return
        if (ahead <= stillMb) aheadMb = ahead
        else tell(0)
      } catch (error) {
        if (before === undefined) promised.delete(id)
        else promised.set(id, before)
        aheadMb = 0
        tell(0)
        throw error
      }
    },
    forget(id) {
      if (promised.delete(id)) tell(aheadMb)
    },
  }
}
