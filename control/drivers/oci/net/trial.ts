/**
 * Whether the kernel has a part that rules need, told from a box that is busy. What is decided here holds as long as the server runs, so
 * a tool that was late or could not be started is asked again.
 */
import type { Clock } from '../../../../shared/clock.ts'
import { isError } from '../../../../shared/errors.ts'

const waitsMs = [250, 1_000, 3_000]

/** What iptables says of a match or target that the kernel, or iptables itself, has not. */
const lacking = /by that name|not supported|missing kernel module|couldn't (load|find)|no such file or directory/i

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The error of the last attempt, or undefined when one succeeded. Throws what is not `driver_failed`. */
export const failureOf = async (attempt: () => Promise<unknown>, clock: Pick<Clock, 'sleep'>): Promise<unknown> => {
  for (let at = 0; ; at++) {
    try {
      await attempt()
      return undefined
    } catch (error) {
      if (!isError(error, 'driver_failed')) throw error
      const waitMs = waitsMs[at]
      if (waitMs === undefined || lacking.test(reasonOf(error))) return error
      await clock.sleep(waitMs)
    }
  }
}
