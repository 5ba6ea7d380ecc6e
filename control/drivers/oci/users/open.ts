/** Whether machines of this instance have users of their own, and which ids of the box these are. */
import { fail } from '../../../../shared/errors.ts'
import type { DriverConfig, DriverDeps } from '../../module.ts'
import type { Names } from '../names.ts'
import { carryOut, withScratch } from '../probe/check.ts'
import { ownUsers } from '../probe/runtime.ts'
import { claimIds } from './ranges.ts'

interface Place {
  readonly names: Names
  readonly dataDir: string
  /** Its runtime has just been seen to start a container with them. */
  readonly hasOwnUsers: boolean
}

/** Why machines cannot have them here, and what to do; undefined when they can. */
const whyNot = async ({ runtime, bundleDir }: DriverConfig, { clock }: DriverDeps, dataDir: string) => {
  if (runtime === 'runsc')
    return { what: 'gVisor keeps users, and what is counted by them, in its own kernel', next: undefined }
  const check = ownUsers({ runtime, bundleDir, required: false })
  const { ok, what, next } = await withScratch(dataDir, clock, undefined, probe => carryOut(check, probe))
  return ok ? undefined : { what, next }
}

/**
 * The first id of the range that the instance claims, or undefined where its machines share the users of the box: because
 * the operator says so, or because the box cannot, which is logged. Throws where the operator insists and it cannot.
 */
export const openUsers = async (config: DriverConfig, deps: DriverDeps, place: Place): Promise<number | undefined> => {
  const { names, dataDir, hasOwnUsers } = place
  const mode = config.userNamespaces ?? 'auto'
  if (mode !== 'off') {
    const reason = hasOwnUsers ? undefined : await whyNot(config, deps, dataDir)
    if (!reason) return claimIds(names, dataDir)
    const { what, next } = reason
    if (mode === 'on')
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'HUTCH_USER_NAMESPACES=on',
        reason: next === undefined ? what : `${what} (${next})`,
      })
    if (next !== undefined) deps.log.warn('users.shared', { reason: what, next })
  }
  return undefined
}
