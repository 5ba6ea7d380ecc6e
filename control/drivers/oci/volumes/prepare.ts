/** Makes the files of volumes, and makes those of a machine that is about to start ready: mended after a loss of power, and grown. */
import { existsSync } from 'node:fs'
import { mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory } from '../../../base/durable.ts'
import type { MachineSpec } from '../../driver.ts'
import type { MachineVolume } from '../../volumes.ts'
import { run, tool } from '../command.ts'
import type { Context } from '../context.ts'
import { bytesPerMb, mkfsArguments } from '../disk/shape.ts'
import { growDisk, tendDisk } from '../disk/tend.ts'
import { fileMb, fileOf, pledgeOf } from './files.ts'

/** Of a file system that is made with contents. */
const makeMs = 110_000

interface Making {
  readonly mb: number
  /** A directory with the contents; none for an empty one. */
  readonly from?: string
  readonly signal?: AbortSignal | undefined
}

/** A new file system at `file`, which is whole and on the disk when it has that name. mke2fs(8) reads `from` and follows no link in it. */
export const makeVolume = async (file: string, { mb, from, signal }: Making): Promise<void> => {
  const directory = dirname(file)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const made = `${file}.new`
  const handle = await open(made, 'w', 0o600)
  try {
    await handle.truncate(mb * bytesPerMb)
    const contents = from === undefined ? [] : ['-d', from]
    const args = [...contents, ...mkfsArguments(made)]
    await run({ step: 'volume', file: tool('mkfs.ext4'), args, signal, timeoutMs: makeMs })
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(made, file)
  await syncDirectory(directory)
}

const prepareOne = async (file: string, volume: MachineVolume, signal: AbortSignal | undefined): Promise<void> => {
  const mb = fileMb(volume)
  if (!existsSync(file)) await makeVolume(file, { mb, signal })
  else if ((await stat(file)).size < mb * bytesPerMb) await growDisk(file, mb, signal)
  else await tendDisk(file, signal)
}

/** Throws `driver_failed`, and `no_room`. */
export const prepareVolumes = async (
  { dataDir, disks }: Pick<Context, 'dataDir' | 'disks'>,
  { id, volumes = [] }: Pick<MachineSpec, 'id' | 'volumes'>,
  signal: AbortSignal | undefined,
): Promise<void> => {
  for (const volume of volumes) {
    await disks.pledges.promise(pledgeOf(volume, id), fileMb(volume))
    await prepareOne(fileOf(dataDir, id, volume), volume, signal)
  }
}
