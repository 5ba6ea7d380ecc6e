/** Drives of a sandbox, as `{sandbox}/drives/mount` mounts them over HTTP: with the same checks, by the host. */
import { cleanPath, type Drives } from '../../shared/drives/drives.ts'
import type { DriveMount } from '../../shared/drives/provider.ts'
import { wantedMount } from '../../shared/drives/routes.ts'
import { fail } from '../../shared/errors.ts'
import { parse } from '../../shared/schema.ts'
import { mountRequest, unmountDrive } from '../../shared/wire/drives.ts'
import type { MachineDrives } from '../core/storage/drives/machine-drives.ts'
import type { Reach } from '../core/machines/reach.ts'
import type { Owner } from '../core/store/store.ts'
import { checkMembers } from './check-options.ts'

export type { DriveMount } from '../../shared/drives/provider.ts'

export interface MountOptions {
  /** Its directory is `{drivesDir}/{workspace}/{driveName}`. */
  readonly driveName: string
  /** Where it is shown in the sandbox; directories that are missing are made. */
  readonly mountPath: string
  /** The directory of the drive that is shown, made when it is missing. Default `/`, all of it. */
  readonly drivePath?: string
  /** Default false. */
  readonly readOnly?: boolean
  /** User and group, in digits, that the drive's owner appears as. Default: the workload's. */
  readonly uidMap?: string
  readonly gidMap?: string
}

export interface SandboxDrives {
  list(): Promise<DriveMount[]>
  /**
   * Resolves with the mount that is there; the same again changes nothing. Throws `not_found` for a drive that this workspace does not
   * have, `wrong_state` when something else is mounted there.
   */
  mount(options: MountOptions): Promise<DriveMount>
  /** Also while it is in use. Throws `not_found`. */
  unmount(mountPath: string): Promise<void>
}

const memberNames: { readonly [member in keyof Required<MountOptions>]: true } = {
  driveName: true,
  mountPath: true,
  drivePath: true,
  readOnly: true,
  uidMap: true,
  gidMap: true,
}

export const sandboxDrives = (
  ownerOf: () => Promise<Owner>,
  { hold, drives }: Pick<Reach, 'hold'> & { drives: MachineDrives | undefined },
): SandboxDrives => {
  const on = async <T>(use: (drives: Drives) => Promise<T>): Promise<T> => {
    const { instance, upstream, release } = await hold(await ownerOf(), new AbortController().signal)
    try {
      const of = drives?.(instance)
      if (!of) throw fail('not_available', { what: 'drives: open it with drivesDir' })
      return await use(of(upstream))
    } finally {
      release()
    }
  }
  return {
    list: () => on(there => there.list()),
    async mount(options) {
      checkMembers(options, Object.keys(memberNames))
      const wanted = wantedMount(parse(mountRequest, options, 'config'))
      return on(there => there.mount(wanted))
    },
    async unmount(mountPath) {
      const { mountPath: path } = parse(unmountDrive.params, { mountPath }, 'config')
      return on(there => there.unmount(cleanPath(path)))
    },
  }
}
