/** When each key was last used: kept in memory, and written down from time to time, so that no request is a write. */
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Tenants } from '../store/store.ts'

/** What `kill -9` can lose of it. */
const writtenEveryMs = 60_000

export interface KeyUses {
  /** The key is used now. */
  note(id: string): void
  /** Epoch ms of the last use; undefined when there was none. */
  of(id: string): Promise<number | undefined>
}

export const createKeyUses = (
  deps: { tenants: Pick<Tenants, 'keyUse' | 'noteKeyUses'>; clock: Clock; log: Log },
  closer: Closing,
): KeyUses => {
  const { tenants, clock, log } = deps
  const fresh = new Map<string, number>()
  const write = async () => {
    const uses = [...fresh].map(([id, at]) => ({ id, at }))
    if (uses.length > 0) await tenants.noteKeyUses(uses)
    for (const { id, at } of uses) if (fresh.get(id) === at) fresh.delete(id)
  }
  const stop = clock.every(writtenEveryMs, () => {
    void write().catch(error => log.warn('key-uses.failed', { reason: messageOf(error), error }))
  })
  closer.add('key uses', async () => {
    stop()
    await write()
  })
  return {
    note: id => void fresh.set(id, clock.now()),
    of: async id => fresh.get(id) ?? tenants.keyUse(id),
  }
}
