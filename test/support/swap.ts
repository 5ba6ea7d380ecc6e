/** Swap that a test gives the box where it has none. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { hasSwap } from '../../control/drivers/oci/cgroup/reclaim.ts'
import type { Teardowns } from './server.ts'

/** Whether there is some now; a file of 128 MB that was made for it is gone when the test ends. */
export const withSwap = async (t: Teardowns): Promise<boolean> => {
  if (await hasSwap()) return true
  const directory = mkdtempSync(join(tmpdir(), 'hutch-swap-'))
  const file = join(directory, 'swap')
  t.teardown(async () => {
    await execa('swapoff', [file], { reject: false })
    rmSync(directory, { recursive: true })
  })
  await execa('fallocate', ['-l', '128M', file])
  await execa('chmod', ['600', file])
  await execa('mkswap', [file])
  return !(await execa('swapon', [file], { reject: false })).failed
}
