/** The drives of one workspace, for one of its machines: directories of this box, mounted there by the driver. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseMountinfo, visible, type MountEntry } from '../../../../shared/drives/mountinfo.ts'
import { driveOf, type DriveMount, type DriveProvider } from '../../../../shared/drives/provider.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Permit } from './permit.ts'
import type { Mounter } from '../../../drivers/driver.ts'

/** Mounts are memory of the kernel that no machine is charged for. */
const mostMounts = 256

/** Names of directories: one path segment that is neither hidden nor `..`. */
const segment = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

export interface HostDrivesOptions {
  /** All drives of this box, a real path. */
  readonly base: string
  readonly workspace: string
  /** Id of the machine. */
  readonly machine: string
  readonly mounter: Mounter
  /** Asked before anything is mounted. */
  readonly permit?: Permit
}

interface Seen {
  readonly entry: MountEntry
  readonly drive: DriveMount | undefined
}

/** Throws `not_found` for a workspace whose name is no directory's. */
export const hostDrives = ({ base, workspace, machine, mounter, permit }: HostDrivesOptions): DriveProvider => {
  if (!segment.test(workspace)) throw fail('not_found', { kind: 'drives of workspace', name: workspace })
  const directory = join(base, workspace)

  const seen = async (): Promise<Seen[]> => {
    const host = visible(parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8')))
    const inside = visible(parseMountinfo(await mounter.table(machine)))
    return inside.map(entry => ({ entry, drive: driveOf(entry, directory, host) }))
  }
  const at = async (mountPath: string) => (await seen()).find(({ entry }) => entry.mountPoint === mountPath)

  return {
    mapsIds: true,
    list: async () => (await seen()).flatMap(({ drive }) => drive ?? []),
    async at(mountPath) {
      const found = await at(mountPath)
      return found && (found.drive ?? 'other')
    },
    async mount(asked, defaults) {
      const { driveName, drivePath, mountPath } = asked
      if (!segment.test(driveName)) throw fail('not_found', { kind: 'drive', name: driveName })
      const wanted = permit ? await permit(asked) : asked
      const { readOnly } = wanted
      if ((await seen()).filter(({ drive }) => drive).length >= mostMounts)
        throw fail('invalid_argument', {
          field: 'mountPath',
          reason: `this sandbox has ${mostMounts} drives mounted already; unmount one first`,
        })
      const uidMap = wanted.uidMap || defaults.uidMap
      const gidMap = wanted.gidMap || defaults.gidMap
      const required = wanted.uidMap !== '' || wanted.gidMap !== ''
      const owner = uidMap === '' && gidMap === '' ? {} : { owner: { uid: uidMap, gid: gidMap, required } }
      const drive = `${workspace}/${driveName}`
      const heeded = await mounter.mount(machine, { base, drive, drivePath, mountPath, readOnly, ...owner })
      return heeded ? { ...wanted, uidMap, gidMap } : wanted
    },
    async unmount(mountPath) {
      const found = await at(mountPath)
      if (!found?.drive) throw fail('operation_failed', { reason: `no drive is mounted at ${mountPath} any more` })
      await mounter.unmount(machine, { mountId: found.entry.id, mountPath })
    },
  }
}
