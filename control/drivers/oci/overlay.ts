/** Whether a directory's file system can carry the upper layer of an overlay: found out by mounting one. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isError } from '../../../shared/errors.ts'
import { run, tool } from './command.ts'

/** The mount is made in a mount namespace of its own, which ends with the command. */
export const carriesOverlay = async (dataDir: string): Promise<boolean> => {
  const scratch = await mkdtemp(join(dataDir, '.overlay-'))
  try {
    const [lower, upper, work, root] = ['lower', 'upper', 'work', 'root'].map(name => join(scratch, name))
    for (const directory of [lower, upper, work, root]) await mkdir(directory as string)
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`
    const script = 'mount -t overlay -o "$1" overlay "$2" && echo works > "$2/file"'
    const args = ['--mount', '--propagation', 'slave', '/bin/sh', '-c', script, 'sh', options, root as string]
    await run({ step: 'overlay', file: tool('unshare'), args })
    return true
  } catch (error) {
    if (isError(error, 'driver_failed')) return false
    throw error
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
