/** Changes what a disk may hold whose machine runs: the file system keeps the rest of its blocks to itself. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fail } from '../../../../shared/errors.ts'
import type { MachineFiles } from '../layout.ts'
import type { Marker } from '../marker.ts'
import { blocksOf } from './shape.ts'

/** The device that the disk of a machine which runs is on: its number, and the blocks there are. Throws `driver_failed` when it is on none. */
export const deviceOf = (files: MachineFiles): { readonly number: number; readonly blocks: number } => {
  const [, number, blocks] = /^loop(\d+) (\d+)\n$/.exec(readFileSync(files.device, 'utf8')) ?? []
  const held = number && readFileSync(`/sys/block/loop${number}/loop/backing_file`, 'utf8').trimEnd()
  if (held !== files.disk)
    throw fail('driver_failed', { driver: 'oci', step: 'disk', reason: `${files.disk} is on no device` })
  return { number: Number(number), blocks: Number(blocks) }
}

/**
 * By `reserved_clusters` (Documentation/ABI/testing/sysfs-fs-ext4 of the kernel), which asks for no privilege but root; the machine's
 * start has written down which device it has, and how many blocks.
 */
export const boundDisk = (files: MachineFiles, disk: NonNullable<Marker['disk']>): void => {
  const { number, blocks } = deviceOf(files)
  const kept = Math.max(0, blocks - (blocksOf(disk) ?? blocks))
  writeFileSync(`/sys/fs/ext4/loop${number}/reserved_clusters`, String(kept))
}
