/** The rules of mounting drives, whoever provides them. */
import { posix } from 'node:path'
import { fail } from '../errors.ts'
import { keyedMutex } from '../sync.ts'
import { below } from './mountinfo.ts'
import type { DriveMount, DriveProvider, IdMaps } from './provider.ts'

const none: IdMaps = { uidMap: '', gidMap: '' }

/** Directories no drive may cover: the kernel's own file systems, and those the caller names. */
const kernels = ['/proc', '/sys', '/dev']

export interface Drives {
  list(): Promise<DriveMount[]>
  /** The mount that is there afterwards. Throws `wrong_state` when something else is mounted there. */
  mount(wanted: DriveMount): Promise<DriveMount>
  /** Throws `not_found` when no drive is mounted there. */
  unmount(mountPath: string): Promise<void>
}

/** Absolute, without repeated slashes or one at the end. */
export const cleanPath = (path: string): string => {
  const clean = posix.normalize(`/${path}`)
  return clean.length > 1 ? clean.replace(/\/$/, '') : clean
}

/** Runs the tasks of one mount point one after the other. */
type Alone = ReturnType<typeof keyedMutex>

/** `reserved` are directories of the daemon and the host that no drive may cover. */
export const createDrives = (deps: {
  provider: DriveProvider
  reserved: readonly string[]
  /** Runs tasks on the same mount point one at a time. To be passed when several instances share the same mounts. */
  alone?: Alone
  /** Default id maps for mounts that name none; called at each mount, if the provider can map ids at all. */
  maps: () => IdMaps | Promise<IdMaps>
}): Drives => {
  const { provider, maps } = deps
  const reserved = [...kernels, ...deps.reserved]
  const alone = deps.alone ?? keyedMutex()

  const check = ({ mountPath, uidMap, gidMap }: DriveMount): void => {
    const covered = reserved.find(path => below(mountPath, path) !== undefined || below(path, mountPath) !== undefined)
    if (covered)
      throw fail('invalid_argument', { field: 'mountPath', reason: `would cover ${covered}, which the sandbox needs` })
    if (provider.mapsIds || (uidMap === '' && gidMap === '')) return
    const field = uidMap === '' ? 'gidMap' : 'uidMap'
    throw fail('invalid_argument', { field, reason: 'drives of this host keep their owners; leave it out' })
  }

  return {
    list: provider.list,
    mount: wanted =>
      alone(wanted.mountPath, async () => {
        check(wanted)
        const there = await provider.at(wanted.mountPath)
        if (there === undefined) return provider.mount(wanted, provider.mapsIds ? await maps() : none)
        if (there !== 'other' && there.driveName === wanted.driveName && there.drivePath === wanted.drivePath)
          return there
        const state = there === 'other' ? 'used by something else' : `used by drive ${there.driveName}`
        throw fail('wrong_state', { kind: 'mount point', name: wanted.mountPath, state, wanted: 'mounting a drive' })
      }),
    unmount: mountPath =>
      alone(mountPath, async () => {
        const there = await provider.at(mountPath)
        if (there === undefined || there === 'other') throw fail('not_found', { kind: 'drive mount', name: mountPath })
        await provider.unmount(mountPath)
      }),
  }
}
