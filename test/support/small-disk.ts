/** A disk that is soon full. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
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
