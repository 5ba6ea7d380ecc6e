/** Where the files of volumes are. */
import { join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import type { MachineSpec } from '../../driver.ts'
import type { MachineVolume } from '../../volumes.ts'
import { filesOf } from '../layout.ts'
import { leastDiskMb } from '../disk/shape.ts'

/** What a start is told of a volume. */
export interface ShownVolume {
  readonly file: string
  readonly mountPath: string
  readonly readOnly: boolean
}

/** Names of its files begin with its id. */
const validId = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/

export const volumesDir = (dataDir: string): string => join(dataDir, 'volumes')

const suffix = '.img'

/** Throws `invalid_argument` for an id that is no file's name. */
const nameOf = (id: string): string => {
  if (!validId.test(id))
    throw fail('invalid_argument', { field: 'volume', reason: 'must be 1 to 64 letters, digits or "-"' })
  return `${id}${suffix}`
}

export const volumeFile = (dataDir: string, id: string): string => join(volumesDir(dataDir), nameOf(id))

/** Its id, if that is the name of a volume's file. */
export const volumeOf = (name: string): string | undefined =>
  name.endsWith(suffix) && validId.test(name.slice(0, -suffix.length)) ? name.slice(0, -suffix.length) : undefined

/** One of a machine's own is beside its disk. */
export const fileOf = (
  dataDir: string,
  machine: string,
  { id, ephemeral }: Pick<MachineVolume, 'id' | 'ephemeral'>,
): string => (ephemeral ? join(filesOf(dataDir, machine).dir, `volume-${nameOf(id)}`) : volumeFile(dataDir, id))

/** In the order in which they are on the stage. */
export const shownVolumes = (
  dataDir: string,
  { id, volumes = [] }: Pick<MachineSpec, 'id' | 'volumes'>,
): ShownVolume[] =>
  volumes.map(volume => ({
    file: fileOf(dataDir, id, volume),
    mountPath: volume.mountPath,
    readOnly: volume.readOnly,
  }))

/** The smallest file system has a size, too. */
export const fileMb = ({ sizeMb }: Pick<MachineVolume, 'sizeMb'>): number => Math.max(leastDiskMb, sizeMb)

/** As pledges know a volume, beside machines by their ids: a machine's own by both. */
export const pledgeOf = ({ id, ephemeral }: Pick<MachineVolume, 'id' | 'ephemeral'>, machine: string): string =>
  ephemeral ? `volume/${machine}/${id}` : `volume/${id}`

/** The file of the volume that a pledge is for; undefined when it is for a machine. */
export const pledgedFile = (dataDir: string, pledge: string): string | undefined => {
  const [, first, second] = /^volume\/([^/]+)(?:\/([^/]+))?$/.exec(pledge) ?? []
  if (first === undefined) return undefined
  return second === undefined ? volumeFile(dataDir, first) : fileOf(dataDir, first, { id: second, ephemeral: true })
}
