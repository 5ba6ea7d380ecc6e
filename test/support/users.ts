/** Whether machines can have users of their own here. */
import { ownUsers } from '../../control/drivers/oci/probe/runtime.ts'
import { carryOut, withScratch } from '../../control/drivers/oci/probe/check.ts'
import { systemClock } from '../../shared/clock.ts'
import { whyNoMachines } from './machine.ts'

/** Why not, or undefined when they can; `dir` is on the file system that machines would be on. */
export const whyNoOwnUsers = async (dir: string): Promise<string | undefined> => {
  const why = whyNoMachines()
  if (why) return why
  const check = ownUsers({ runtime: 'runc', bundleDir: dir, required: false })
  const { ok, what } = await withScratch(dir, systemClock(), undefined, probe => carryOut(check, probe))
  return ok ? undefined : `needs ${what}`
}
