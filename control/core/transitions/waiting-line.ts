/**
 * Records that wait for their first machine. Machines are made a few at a time, in order of arrival; a record that would wait longer
 * than whoever made it does is refused at once instead of timing out without a word.
 */
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import { isUp } from './instance-life.ts'
import { wantedCount, type RulesByKind } from './rules.ts'
import type { Resource, Written } from '../store/store.ts'

export interface WaitingLine {
  /** To be told of everything that is written. */
  written(written: Written): void
  /**
   * Throws `overloaded` when there is no room for one more of that workspace. A workspace that has all the room leaves each other one
   * its part of it.
   */
  admit(workspace: string): void
  /** It was let in, and is not written yet: others that come meanwhile are to know of it. */
  join(uid: string, workspace: string): void
  /** It waits for something that is no turn, its image; or it was not written after all. */
  leave(uid: string): void
  readonly length: number
}

/** How long one may wait. */
const patienceMs = 50_000
/** So many may wait however slow the box is just now: its pace is known only while several are made. */
const leastRoom = 100
/** What a machine is taken to need before one was made. */
const firstGuessMs = 250

/** A record with a status is somebody's; one without waits for nobody. */
const wants = (rules: RulesByKind, record: Resource): boolean => {
  const { life, workload } = rules.get(record.kind) ?? {}
  return life !== undefined && workload !== undefined && wantedCount(workload, record) > 0
}

export const waitingLine = ({ rules, clock }: { rules: RulesByKind; clock: Clock }): WaitingLine => {
  /** By uid, the workspace of each. */
  const waiting = new Map<string, string>()
  let everyMs = firstGuessMs
  /** When the last one was done, or the first one came. */
  let since = 0

  const done = (uid: string): void => {
    if (!waiting.delete(uid)) return
    const now = clock.elapsed()
    everyMs = everyMs * 0.9 + (now - since) * 0.1
    since = now
  }

  const join = (uid: string, workspace: string): void => {
    if (waiting.size === 0) since = clock.elapsed()
    waiting.set(uid, workspace)
  }

  return {
    join,
    written({ resources, instances, removed }) {
      for (const record of resources) {
        const { uid } = record
        if (!wants(rules, record)) waiting.delete(uid)
        else if (record.version === 1) join(uid, record.workspace)
      }
      for (const instance of instances) if (isUp(instance)) done(instance.owner.uid)
      for (const { uid } of removed) waiting.delete(uid)
    },
    admit(workspace) {
      const room = Math.max(leastRoom, Math.floor(patienceMs / everyMs))
      if (waiting.size < room) return
      const whose = [...waiting.values()]
      const part = Math.floor(room / new Set([...whose, workspace]).size)
      if (whose.filter(one => one === workspace).length < part) return
      const retryAfterS = Math.max(1, Math.ceil(((waiting.size + 1 - room) * everyMs) / 1000))
      throw fail('overloaded', { waiting: waiting.size, retryAfterS })
    },
    leave: uid => void waiting.delete(uid),
    get length() {
      return waiting.size
    },
  }
}
