/** Disks that are files with an ext4 file system, each on a loop device while its machine runs. */
import { existsSync } from 'node:fs'
import { removeDirectory } from '../remove-directory.ts'
import type { Blanks } from './blanks.ts'
import { boundDisk } from './bound.ts'
import { diskFromProject, putBack, treesWithoutDisk } from './from-project.ts'
import type { DiskKind } from './kind.ts'
import { claimableMb } from './shape.ts'
import { growDisk, tendDisk } from './tend.ts'

export const fileDisks = (blanks: Blanks): DiskKind => ({
  claimableMb,
  plan: (_files, { anonymous }, room) => ({ mb: anonymous ? Math.max(claimableMb, room) : room, room }),
  again(files, disk) {
    putBack(files)
    return disk
  },
  async prepare({ root, disk, earlier }) {
    const { files, signal } = root
    if (!earlier) return blanks.of(disk.mb)
    if (existsSync(files.disk)) await removeDirectory(files.settling)
    if (!existsSync(files.disk)) await diskFromProject(files, disk.mb, signal)
    else await (disk.mb > earlier.mb ? growDisk(files.disk, disk.mb, signal) : tendDisk(files.disk, signal))
    return undefined
  },
  bound: boundDisk,
  kept: files => (existsSync(files.disk) ? [files.disk] : treesWithoutDisk(files)),
  // It goes with its machine's directory.
  drop: async () => {},
})
