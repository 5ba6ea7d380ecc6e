/** Sweeps after dead instances from where it is started, and says so. */
import { openHierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { sweepDead } from '../../control/drivers/oci/sweep.ts'
import { systemClock } from '../../shared/clock.ts'
import { silentLog } from '../../shared/log.ts'

await sweepDead(await openHierarchy(), { log: silentLog, clock: systemClock() })
process.stdout.write('swept\n')
