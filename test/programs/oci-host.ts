/**
 * A host process that is killed: opens the oci driver with the JSON of argv[2], creates the machines of argv[3] one
 * after the other, prints each id that runs, then waits to be killed.
 */
import { openOci } from '../../control/drivers/oci/index.ts'
import { systemClock } from '../../shared/clock.ts'
import { silentLog } from '../../shared/log.ts'

const driver = await openOci(JSON.parse(process.argv[2] as string), { log: silentLog, clock: systemClock() })
process.stdout.write('open\n')
for (const spec of JSON.parse(process.argv[3] as string)) {
  const { id } = await driver.create(spec)
  process.stdout.write(`${id}\n`)
}
process.stdin.resume()
