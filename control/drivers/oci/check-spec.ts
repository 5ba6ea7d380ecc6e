/** What no machine can be. */
import { fail } from '../../../shared/errors.ts'
import type { MachineSpec } from '../driver.ts'

/** The smallest memory in which a daemon starts. */
const leastMemoryMb = 64

/** Throws `invalid_argument` for what no machine can be. */
export const checkSpec = (spec: Omit<MachineSpec, 'channel'>): void => {
  if (!(spec.memoryMb >= leastMemoryMb))
    throw fail('invalid_argument', { field: 'memoryMb', reason: `must be at least ${leastMemoryMb}` })
  if (!(spec.cpus > 0)) throw fail('invalid_argument', { field: 'cpus', reason: 'must be more than 0' })
  if (!/^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$/.test(spec.hostname))
    throw fail('invalid_argument', { field: 'hostname', reason: 'must be a host name of at most 64 characters' })
}
