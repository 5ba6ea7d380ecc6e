/** Which runtime starts machines where the operator names none. */
import type { Clock } from '../../../../shared/clock.ts'
import type { Log } from '../../../../shared/log.ts'
import type { DriverConfig } from '../../module.ts'
import { presentRuntimes } from '../runtime.ts'
import { carryOut, withScratch } from './check.ts'
import { ownUsers, startsContainer } from './runtime.ts'

export type RuntimeChoice = Pick<DriverConfig, 'dataDir' | 'runtime' | 'bundleDir' | 'userNamespaces'>

/**
 * The runtime that is configured. `auto` is crun where it is installed and starts a container as machines are to be, with users of
 * their own unless the operator wants none; else runc, which takes three times the processor for the same walls. One that is
 * installed and does not serve is logged.
 */
export const chooseRuntime = async (
  { dataDir, runtime, bundleDir, userNamespaces }: RuntimeChoice,
  { clock, log }: { clock: Clock; log?: Log },
  signal?: AbortSignal,
): Promise<string> => {
  if (runtime !== 'auto') return runtime
  if (!presentRuntimes().includes('crun')) return 'runc'
  const check =
    userNamespaces === 'off' ? startsContainer('crun') : ownUsers({ runtime: 'crun', bundleDir, required: false })
  const { ok, what } = await withScratch(dataDir, clock, signal, probe => carryOut(check, probe))
  if (ok) return 'crun'
  log?.info('runtime.runc', { reason: what })
  return 'runc'
}
