/** More room for a machine that runs. */
import type { Context } from '../context.ts'
import { filesOf } from '../layout.ts'
import { readMarkerNow, writeMarkerNow } from '../marker.ts'
import { isFile } from './kind.ts'
import { promisedMb } from './shape.ts'

/**
 * Lets it write `mb`, which it is promised; one whose file system is smaller than that has it grown by its next start. The marker is last: what a
 * crash interrupts is done again, as the machine is looked at again. Throws `no_room`.
 */
export const growNow = async (
  { dataDir, disks }: Pick<Context, 'dataDir' | 'disks'>,
  id: string,
  mb: number,
): Promise<void> => {
  const files = filesOf(dataDir, id)
  const found = readMarkerNow(files.marker)
  const disk = found?.disk
  if (!found?.ready || !disk || mb <= disk.room || (isFile(disk) && mb > disk.mb)) return
  const larger = { ...disk, mb: Math.max(disk.mb, mb), room: mb }
  await disks.pledges.promise(id, promisedMb(larger))
  const now = readMarkerNow(files.marker)
  // It has ended meanwhile, or was made anew.
  if (!now?.ready || now.disk?.room !== disk.room || now.disk.project !== disk.project) return
  disks.of(larger).bound(files, larger)
  writeMarkerNow(files.marker, { ...now, disk: larger })
}
