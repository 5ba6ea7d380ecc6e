import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * A directory of drives, and files beside it that nothing may reach. It is a file system of its own whose mounts are
 * passed on to other namespaces, as on most boxes.
 */
export const drivesDirectory = (t: Test): string => {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-drives-')))
  const base = join(scratch, 'drives')
  mkdirSync(base)
  execFileSync('mount', ['-t', 'tmpfs', 'hutch-test', base])
  t.teardown(() => {
    execFileSync('umount', ['--lazy', '--recursive', base])
    rmSync(scratch, { recursive: true, force: true })
  })
  execFileSync('mount', ['--make-shared', base])
  for (const drive of ['default/data', 'default/other', 'theirs/secret'])
    mkdirSync(join(base, drive), { recursive: true })
  chmodSync(base, 0o700)
  mkdirSync(join(scratch, 'victim'))
  writeFileSync(join(scratch, 'victim/file'), 'untouched')
  symlinkSync(join(base, 'theirs/secret'), join(base, 'default/link'))
  symlinkSync(join(scratch, 'victim'), join(base, 'default/data/way-out'))
  return base
}
