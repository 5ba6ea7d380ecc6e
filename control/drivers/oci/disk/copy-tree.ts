/**
 * A tree copied as it is: contents with holes, links, owners, modes, times and all extended attributes. What an attempt that was killed or late has
 * copied the next one goes on from, as a create has two minutes and trees have no largest size.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { fail } from '../../../../shared/errors.ts'
import { run, tool } from '../command.ts'
import { removeDirectory } from '../remove-directory.ts'

interface Copied {
  readonly from: string
  /** Nothing, or what an earlier attempt at the same tree left. */
  readonly to: string
  readonly signal?: AbortSignal | undefined
}

/** Of each step, within what a create has. */
const attemptMs = 105_000

/**
 * What cp(1) was at when it ended: it gives a file its time last of all. Directories are gone through again in any case.
 */
const removeHalf = async (to: string, begun: string, signal: AbortSignal | undefined): Promise<void> => {
  const args = [to, '!', '-type', 'd', '-newer', begun, '-delete']
  await run({ step: 'copy files', file: tool('find'), args, signal, timeoutMs: attemptMs })
}

/**
 * Type, mode, owner, time, path and target of everything, and the size of files. What `--update` believed by its time alone is seen here: one that a
 * clock which was set back, or a loss of power, has left half.
 */
const listing = (): string =>
  `${tool('find')} . \\( -type d -printf '%y %m %U %G %T@ %P\\0' -o -printf '%y %m %U %G %T@ %s %P %l\\0' \\) | ${tool('sort')} -z | ${tool('sha256sum')}`

const digestOf = (tree: string, signal: AbortSignal | undefined): Promise<string> =>
  run({
    step: 'compare files',
    file: tool('sh'),
    args: ['-c', `cd "$0" && ${listing()}`, tree],
    signal,
    timeoutMs: attemptMs,
  })

/** Resolves when all of it is there and on the disk. Throws `driver_failed`; called again it goes on. */
export const copyTree = async ({ from, to, signal }: Copied): Promise<void> => {
  const begun = `${to}.begun`
  if (existsSync(to) && existsSync(begun)) await removeHalf(to, begun, signal)
  else {
    await removeDirectory(to)
    await writeFile(begun, '')
  }
  // By themselves extended attributes that cannot be kept are no failure to `--archive`. Of a link whose other name is there it makes a link.
  const kept = ['--archive', '--preserve=xattr', '--sparse=auto', '--reflink=auto', '--update']
  const args = [...kept, '--no-target-directory', '--', from, to]
  await run({ step: 'copy files', file: tool('cp'), args, signal, timeoutMs: attemptMs })
  const [one, other] = await Promise.all([digestOf(from, signal), digestOf(to, signal)])
  if (one !== other) {
    await removeDirectory(to)
    throw fail('driver_failed', {
      driver: 'oci',
      step: 'copy files',
      reason: `what was copied of ${from} differs; it is copied anew`,
    })
  }
  // What it was copied from goes next.
  await run({ step: 'copy files', file: tool('sync'), args: ['--file-system', to], signal, timeoutMs: attemptMs })
}
