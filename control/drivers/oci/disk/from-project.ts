/**
 * A disk that is a file, made of the files of a machine that was bounded by a project: a backup of one may come to a box whose file system
 * knows no projects. Interrupted, the files are in `settling` or where they were, and it is begun anew.
 */
import { existsSync, renameSync } from 'node:fs'
import { mkdir, open, rename, truncate } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { run, tool } from '../command.ts'
import type { MachineFiles } from '../layout.ts'
import { removeDirectory } from '../remove-directory.ts'
import type { Disk } from './kind.ts'
import { bytesPerMb, mkfsArguments, tablesMb } from './shape.ts'

const timeoutMs = 110_000

/** Each, and where it is while the disk is made. */
const treesOf = ({ upper, private: kept, settling }: MachineFiles) =>
  [upper, kept].map(tree => [tree, join(settling, basename(tree))] as const)

/** Where files of such a machine may be that has no disk yet. */
export const treesWithoutDisk = ({ upper, private: kept, settling }: MachineFiles): readonly string[] => [
  upper,
  kept,
  settling,
]

/** Larger than what it may hold by its own tables, so that a machine that was full has room for its files. */
export const fileInstead = ({ room }: Disk): Disk => ({ mb: room + tablesMb(room + tablesMb(room)), room })

/** Undoes what was interrupted. */
export const putBack = (files: MachineFiles): void => {
  if (existsSync(files.disk)) return
  for (const [tree, moved] of treesOf(files)) if (existsSync(moved)) renameSync(moved, tree)
}

/** Makes the disk, of `mb`, of a machine that does not run. mke2fs(8) reads the trees and follows no link. Throws `driver_failed`. */
export const diskFromProject = async (
  files: MachineFiles,
  mb: number,
  signal: AbortSignal | undefined,
): Promise<void> => {
  putBack(files)
  const { settling, disk } = files
  await removeDirectory(settling)
  await mkdir(settling, { mode: 0o700 })
  for (const [tree, moved] of treesOf(files)) if (existsSync(tree)) await rename(tree, moved)
  const made = `${disk}.new`
  const file = await open(made, 'w', 0o600)
  try {
    await truncate(made, mb * bytesPerMb)
    const args = ['-d', settling, ...mkfsArguments(made)]
    await run({ step: 'disk', file: tool('mkfs.ext4'), args, signal, timeoutMs })
    // What it was made of goes next.
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(made, disk)
  await removeDirectory(settling)
}
