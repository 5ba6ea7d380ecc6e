/**
 * From where an instance was seen when it claimed something, so that another can prove that it is over. What is merely not to be
 * seen proves nothing: the other may be in a mount or PID namespace of its own, and stopped at the moment.
 */
import { lstat, readlink } from 'node:fs/promises'
import { sep } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import { s, type Out } from '../../../shared/schema.ts'

export const whereabouts = s.object({
  /** The PID namespace in which its number means it. */
  pidNamespace: s.string(),
  /** `device:inode` of each directory from the root to its data directory. */
  path: s.array(s.string()),
})
export type Whereabouts = Out<typeof whereabouts>

const unlessGone = (error: unknown): undefined => {
  if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined
  throw error
}

const pidNamespace = (): Promise<string> => readlink('/proc/self/ns/pid')

/** `/`, `/srv`, `/srv/data` */
const stepsTo = (directory: string): string[] => {
  const names = directory.split(sep).filter(Boolean)
  return [sep, ...names.map((_, at) => sep + names.slice(0, at + 1).join(sep))]
}

const identityOf = async (path: string): Promise<string | undefined> => {
  const found = await lstat(path, { bigint: true }).catch(unlessGone)
  return found && `${found.dev}:${found.ino}`
}

const deviceOf = (identity: string | undefined): string | undefined => identity?.split(':')[0]

/** Of this process, with its data directory. */
export const whereaboutsOf = async (dataDir: string): Promise<Whereabouts> => {
  const path: string[] = []
  for (const step of stepsTo(dataDir)) path.push((await identityOf(step)) ?? '')
  return { pidNamespace: await pidNamespace(), path }
}

/**
 * Whether the directory is known to be gone, and not only out of sight: the directory above it is the very one that was above it,
 * it has no such entry, and nothing that is missing was a file system of its own, which may be unmounted.
 */
const isRemoved = async (dataDir: string, { path }: Whereabouts): Promise<boolean> => {
  const steps = stepsTo(dataDir)
  if (path.length !== steps.length) return false
  for (const [at, step] of steps.entries()) {
    const now = await identityOf(step)
    if (now === path[at]) continue
    const above = deviceOf(path[at - 1])
    return now === undefined && above !== undefined && path.slice(at).every(one => deviceOf(one) === above)
  }
  return false
}

/** Whether the data directory was removed, and the process that had it was one of those that are seen here, and is no more. */
export const isProvenOver = async (claimant: {
  readonly dataDir: string
  readonly pid: number
  readonly seen?: Whereabouts | undefined
}): Promise<boolean> => {
  const { dataDir, pid, seen } = claimant
  if (!seen || seen.pidNamespace !== (await pidNamespace())) return false
  return (await identityOf(`/proc/${pid}`)) === undefined && (await isRemoved(dataDir, seen))
}
