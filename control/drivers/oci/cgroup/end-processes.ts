/** Ends processes by descriptors of them (`hold-process.c`), so that none is meant that has one's number by now. */
import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { fail } from '../../../../shared/errors.ts'
import { nativeAddon } from '../../../base/native-addon.ts'

interface Addon {
  /** A descriptor, or a negative errno. */
  hold(pid: number): number
  /** 0, or a negative errno. */
  end(descriptor: number): number
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/hold-process.node'))

/** Descriptors that are open at a time. */
const most = 256

/** What a call answered; undefined for a process that is gone. */
const there = (step: string, answer: number): number | undefined => {
  if (answer >= 0) return answer
  if (answer === -constants.errno.ESRCH) return undefined
  throw fail('driver_failed', { driver: 'oci', step, reason: getSystemErrorMessage(answer) })
}

const hold = (pids: readonly number[]): Map<number, number> => {
  const held = new Map<number, number>()
  try {
    for (const pid of pids) {
      const descriptor = there('hold process', addon().hold(pid))
      if (descriptor !== undefined) held.set(pid, descriptor)
    }
    return held
  } catch (error) {
    for (const descriptor of held.values()) closeSync(descriptor)
    throw error
  }
}

/**
 * Sends SIGKILL to all of `pids` that `list` still names once there is a descriptor of each: if the one that was meant lives, the number is
 * its own. Who is gone by then is done.
 */
export const endProcesses = async (pids: readonly number[], list: () => Promise<readonly number[]>): Promise<void> => {
  for (let from = 0; from < pids.length; from += most) {
    const held = hold(pids.slice(from, from + most))
    try {
      const named = new Set(await list())
      for (const [pid, descriptor] of held) {
        if (!named.has(pid)) continue
        held.delete(pid)
        there('end process', addon().end(descriptor))
      }
    } finally {
      for (const descriptor of held.values()) closeSync(descriptor)
    }
  }
}
