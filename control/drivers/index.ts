/** The drivers there are. A new one is a folder and a line here. */
import { fail, messageOf } from '../../shared/errors.ts'
import { command } from '../../shared/installation.ts'
import type { Driver } from './driver.ts'
import { driversOf, type Drivers } from './drivers.ts'
import { fakeDriver } from './fake/index.ts'
import type { DriverConfig, DriverDeps, DriverModule } from './module.ts'
import { openOci } from './oci/index.ts'
import { supervise } from './supervise.ts'

export type { DriverConfig, DriverDeps } from './module.ts'

const modules: readonly DriverModule[] = [
  { name: 'oci', tier: 1, open: openOci },
  { name: 'fake', open: async () => fakeDriver() },
]

const driverNames: readonly string[] = ['auto', ...modules.map(({ name }) => name)]

/** Throws `invalid_argument` for a driver that does not exist. */
export const checkDriver = ({ driver }: Pick<DriverConfig, 'driver'>): void => {
  if (driverNames.includes(driver)) return
  throw fail('invalid_argument', {
    field: 'HUTCH_DRIVER',
    reason: `"${driver}" must be one of ${driverNames.join(', ')}`,
  })
}

/**
 * Opens the configured driver. `auto` opens the strongest tier that is usable with the configured runtime; it never
 * takes another runtime than the configured one, nor `fake`. Throws `driver_failed` with what is missing and what to
 * do, or as `checkDriver`.
 */
const openDriver = async (config: DriverConfig, deps: DriverDeps): Promise<Driver> => {
  checkDriver(config)
  const wanted =
    config.driver === 'auto'
      ? modules.filter(({ tier }) => tier !== undefined).toSorted((a, b) => (b.tier ?? 0) - (a.tier ?? 0))
      : modules.filter(({ name }) => name === config.driver)
  const reasons: string[] = []
  for (const module of wanted) {
    try {
      return supervise(await module.open(config, deps), deps)
    } catch (error) {
      if (wanted.length === 1) throw error
      reasons.push(`${module.name}: ${messageOf(error)}`)
    }
  }
  throw fail('driver_failed', {
    driver: 'auto',
    step: 'open',
    reason: `no driver is usable here; run ${command('doctor')}: ${reasons.join(' | ')}`,
  })
}

/**
 * Opens the configured driver, which makes new machines, and those that machines of this host have besides (`inUse`). One of
 * these that cannot be opened is logged: its machines are left alone. Throws as `openDriver` does.
 */
export const openDrivers = async (
  config: DriverConfig,
  inUse: ReadonlySet<string>,
  deps: DriverDeps,
): Promise<Drivers> => {
  const preferred = await openDriver(config, deps)
  const others: Driver[] = []
  const closed: Record<string, string> = {}
  for (const name of inUse)
    if (name && name !== preferred.name)
      try {
        others.push(await openDriver({ ...config, driver: name }, deps))
      } catch (error) {
        closed[name] = messageOf(error)
        deps.log.error('driver.closed', { driver: name, error })
      }
  return driversOf(preferred, others, closed)
}
