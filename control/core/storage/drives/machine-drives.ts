/** The drives of any machine of this box, whoever asks for them: the gateway for a client, or the library. */
import { createDrives, type Drives } from '../../../../shared/drives/drives.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import type { Connections } from '../../channel/connections.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Address, Instance } from '../../store/store.ts'
import { driveOwnerOf } from './owner.ts'
import { hostDrives } from './provider.ts'
import { permitFor, type RulesDeps } from './permit.ts'

/** Undefined for a machine of a driver that cannot mount; else takes where its daemon answers. */
export type MachineDrives = (instance: Instance) => ((upstream: Address) => Drives) | undefined

/** Where the daemon lives and keeps what it must not lose. */
const reserved = ['/.hutch', '/.hutch-drives', '/var/lib/hutchd']

export interface MachineDrivesDeps extends Omit<RulesDeps, 'base'> {
  readonly drivers: Drivers
  readonly connections: Connections
}

/** `base` is the real path of the directory of drives. */
export const machineDrives = (base: string, { drivers, connections, ...rules }: MachineDrivesDeps): MachineDrives => {
  const locks = keyedMutex()
  return instance => {
    const { workspace, name } = instance.owner
    const { mounter } = drivers.need(instance.driver)
    if (!mounter) return undefined
    return upstream =>
      createDrives({
        provider: hostDrives({
          base,
          workspace,
          machine: instance.id,
          mounter,
          permit: permitFor({ ...rules, base }, instance.owner),
        }),
        reserved,
        maps: () => driveOwnerOf(connections, name, upstream),
        alone: (path, task) => locks(`${instance.id} ${path}`, task),
      })
  }
}
