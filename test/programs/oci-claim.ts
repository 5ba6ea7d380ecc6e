/**
 * A host that is killed in the middle of a claim: opens the oci driver with the JSON of argv[2], makes the machine of argv[3] for nobody, of
 * no image where argv[4] says so, claims it, and kills itself where argv[5] says: when its daemon is about to be `told`, or when its
 * marker is `written` too, and no daemon has answered.
 */
import { readFileSync } from 'node:fs'
import { openOci } from '../../control/drivers/oci/index.ts'
import { filesOf } from '../../control/drivers/oci/layout.ts'
import { systemClock } from '../../shared/clock.ts'
import { silentLog } from '../../shared/log.ts'

const [config = '', given = '', kind, moment] = process.argv.slice(2)
const clock = systemClock()
const options = JSON.parse(config)
const spec = JSON.parse(given)
const driver = await openOci(options, { log: silentLog, clock })
const { claimer } = driver
if (claimer?.genericRoot === undefined) throw new Error('there are no generic machines here')
const rootfs = kind === 'generic' ? claimer.genericRoot : spec.rootfs
await driver.create({ ...spec, rootfs, memoryMb: 128, anonymous: true })
const { marker } = filesOf(options.dataDir, spec.id)
const isWritten = () => JSON.parse(readFileSync(marker, 'utf8')).memoryMb === spec.memoryMb
await claimer.claim(spec, async () => {
  while (moment === 'written' && !isWritten()) await clock.sleep(1)
  process.kill(process.pid, 'SIGKILL')
})
