/** Files without a name, made on a thread of the pool and named later (`unnamed-files.c`). */
import { check, lazy, loadAddon } from '../load.ts'

interface UnnamedFilesAddon {
  make(dir: string, flags: number, mode: number, count: number): Promise<number[] | number> | number
  name(fd: number, path: string): number
}

const addon = lazy(() => loadAddon<UnnamedFilesAddon>('unnamed-files'))

/**
 * Opens up to `count` (at most 32) new files on the file system of `dir`; one that is closed before it got a name is
 * gone. Rejects when none could be made, with `EOPNOTSUPP` where the file system has no such files.
 */
export const makeUnnamed = async (dir: string, flags: number, mode: number, count: number): Promise<number[]> => {
  const made = await addon().make(dir, flags, mode, count)
  return typeof made === 'number' ? [check('open', made, dir)] : made
}

/** Gives such a file a name. Throws `EEXIST` when the name is taken, `EXDEV` when it is on another file system. */
export const nameFile = (fd: number, path: string): void => void check('linkat', addon().name(fd, path), path)
