/** Changes what a disk may hold whose machine runs: the file system keeps the rest of its blocks to itself. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fail } from '../../../../shared/errors.ts'
import type { MachineFiles } from '../layout.ts'
import type { Marker } from '../marker.ts'
import { blocksOf } from './shape.ts'

/**
 * By `reserved_clusters` (Documentation/ABI/testing/sysfs-fs-ext4 of the kernel), which asks for no privilege but root; the machine's
 * start has written down which device it has, and how many blocks.
 */
export const boundDisk = (files: MachineFiles, disk: NonNullable<Marker['disk']>): void => {
  const [, device, total] = /^(loop\d+) (\d+)\n$/.exec(readFileSync(files.device, 'utf8')) ?? []
  const held = device && readFileSync(`/sys/block/${device}/loop/backing_file`, 'utf8').trimEnd()
  if (held !== files.disk)
    throw fail('driver_failed', { driver: 'oci', step: 'disk', reason: `${files.disk} is on no device` })
  const blocks = blocksOf(disk) ?? Number(total)
  writeFileSync(`/sys/fs/ext4/${device}/reserved_clusters`, String(Math.max(0, Number(total) - blocks)))
}
