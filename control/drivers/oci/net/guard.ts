/** Keeps the fences standing: somebody may flush the box's firewall at any time. */
import type { Clock } from '../../../../shared/clock.ts'
import type { Log } from '../../../../shared/log.ts'
import { semaphore } from '../../../../shared/sync.ts'
import { fencesStand, raiseFences, type Fences } from './firewall.ts'

export interface Guard {
  /** Puts the fences up again where they are down. Throws when it cannot. */
  mend(): Promise<void>
  /** Stops looking, and waits for a look that is under way. */
  close(): Promise<void>
}

const everyMs = 15_000

/** Raises the fences, then looks after them. */
export const guardFences = async (fences: Fences, deps: { log: Log; clock: Clock }): Promise<Guard> => {
  const { log, clock } = deps
  const oneAtATime = semaphore(1)
  await raiseFences(fences)
  const mend = () =>
    oneAtATime(async () => {
      if (await fencesStand(fences.names)) return
      log.warn('fences.mended', { chain: fences.names.chain })
      await raiseFences(fences)
    })
  const stop = clock.every(everyMs, () => void mend().catch(error => log.error('fences.down', { error })))
  return {
    mend,
    close() {
      stop()
      return oneAtATime(async () => {})
    },
  }
}
