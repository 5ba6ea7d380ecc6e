/** A disk that is soon full. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** The directory of a fresh tmpfs of so many megabytes, gone when the test ends; undefined where mounting is not allowed. */
export const smallDisk = (t: Test, megabytes: number): string | undefined => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'none', dir], { stdio: 'ignore' })
  } catch {
    // Without the right to mount, or without mount at all: the caller says that it looked at nothing.
    rmSync(dir, { recursive: true })
    return undefined
  }
  t.teardown(() => {
    execFileSync('umount', ['-l', dir])
    rmSync(dir, { recursive: true })
  })
  return dir
}

/** The directory of a fresh ext4 of so many megabytes on a loop device, with nobody else on it, gone when the test ends. */
export const ownDisk = (t: Test, megabytes: number): string => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-own-disk-'))
  const [image, place] = [join(dir, 'image'), join(dir, 'disk')]
  t.teardown(() => {
    if (existsSync(join(place, 'lost+found'))) execFileSync('umount', [place])
    rmSync(dir, { recursive: true })
  })
  mkdirSync(place)
  execFileSync('truncate', ['--size', `${megabytes}M`, image])
  execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image])
  execFileSync('mount', ['-o', 'loop', image, place])
  return place
}
