/** Removes what a tenant has made. */
import { isThere } from '../../../shared/is-there.ts'
import { run, tool } from './command.ts'

/** Trees of tenants can be deeper than any path may be long; rm(1) walks them by descriptor and follows no link. */
export const removeDirectory = async (directory: string): Promise<void> => {
  if (!(await isThere(directory))) return
  const args = ['-rf', '--one-file-system', '--', directory]
  await run({ step: 'remove directory', file: tool('rm'), args, timeoutMs: 50_000 })
}
