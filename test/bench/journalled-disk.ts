/** A disk whose file system has a journal, as most boxes' have: a benchmark's own may have none, and an fsync beside it is none of a user's. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from './measure.ts'

const bytes = 8 * 1024 ** 3

const say = (file: string, ...args: string[]): string => execFileSync(file, args, { encoding: 'utf8' }).trim()

/** The directory of a fresh ext4 as mkfs makes it, on a loop device past the page cache; gone when the benchmark ends. Throws where it cannot be made. */
export const journalledDisk = (bench: Bench): string => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-bench-disk-'))
  bench.later('disk', () => rmSync(dir, { recursive: true }))
  const [file, place] = [join(dir, 'image'), mkdtempSync(join(dir, 'disk-'))]
  writeFileSync(file, '')
  truncateSync(file, bytes)
  say('mkfs.ext4', '-q', '-F', file)
  const device = say('losetup', '--find', '--show', '--direct-io=on', file)
  bench.later('loop device', () => say('losetup', '--detach', device))
  say('mount', device, place)
  bench.later('mount', () => say('umount', place))
  return place
}
