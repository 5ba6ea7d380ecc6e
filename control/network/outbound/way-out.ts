/** The way out of this host's held machines: the engine, who its clients are, and what they are told. */
import { join } from 'node:path'
import type { Closing } from '../../../shared/closing.ts'
import { isError } from '../../../shared/errors.ts'
import { wireNames } from '../../../shared/wire-names.ts'
import type { Config } from '../../base/config.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Egress, EgressDeps } from '../egress/egress.ts'
import type { Sealer } from '../../core/secrets/secrets.ts'
import { maxEntries } from '../egress/events/record.ts'
import { openEventFiles, type EventFiles } from './event-files.ts'
import { keptEvents, openEgress } from './open.ts'
import { createMembers, type Members } from './members.ts'
import { createOwners, type Owners } from './outbound.ts'

interface WayOutDeps extends Pick<EgressDeps, 'clock' | 'ids' | 'log' | 'lastNet'> {
  readonly drivers: Pick<Drivers, 'preferred'>
  readonly sealer: Sealer
}

export interface WayOut {
  readonly egress: Egress
  readonly owners: Owners
  readonly members: Members
  readonly files: EventFiles
  /** What programs are told of the proxy. */
  readonly proxyUrl: string
  /** PEM of the authorities that programs have to trust. */
  readonly trusted: string
}

/**
 * Undefined where machines cannot be held, or nobody can listen for them: then rules are refused, and machines that are held already
 * reach nothing. Throws `invalid_argument` naming a variable that cannot be used.
 */
export const openWayOut = async (config: Config, parts: WayOutDeps, closer: Closing): Promise<WayOut | undefined> => {
  const { drivers, log } = parts
  const driver = drivers.preferred.outbound
  if (!driver) return undefined
  const owners = createOwners(driver)
  const members = createMembers()
  const files = openEventFiles(join(config.dataDir, 'egress-events'), { events: keptEvents, seen: maxEntries }, parts)
  try {
    const { engine: egress, trusted } = await openEgress(config, driver, {
      ...parts,
      wireNames: wireNames(config.wireNames),
      owners,
      members,
      files,
    })
    closer.add('egress', egress.close)
    const proxyUrl = `http://${driver.address}:${driver.ports.proxy}`
    return { egress, owners, members, files, proxyUrl, trusted }
  } catch (error) {
    if (isError(error, 'invalid_argument')) throw error
    log.error('outbound.closed', {
      error,
      next: 'sandboxes with a network policy reach nothing; mend it and start again',
    })
    return undefined
  }
}
