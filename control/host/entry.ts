import { fail } from '../../shared/errors.ts'
import type { DiskRoom } from '../core/transitions/disk-room.ts'
import type { WaitingLine } from '../core/transitions/waiting-line.ts'
import type { Entry } from '../core/records/context.ts'

/** Whether a create is let in, by all that may say no. */
export const entryBy = (deps: { draining: () => boolean; line: WaitingLine; room: DiskRoom | undefined }): Entry => ({
  async admit({ workspace, uid, storageMb }) {
    const { draining, line, room } = deps
    if (draining()) throw fail('draining', { retryAfterS: 30 })
    line.admit(workspace)
    // At once: a burst is let in before the first of it is written.
    line.join(uid, workspace)
    try {
      if (storageMb !== undefined) await room?.admit(uid, storageMb)
    } catch (error) {
      line.leave(uid)
      throw error
    }
  },
  leave(uid) {
    deps.line.leave(uid)
    deps.room?.leave(uid)
  },
  async grow(moreMb) {
    await deps.room?.check(moreMb)
  },
})
