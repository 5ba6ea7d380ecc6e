/** Files without a name, made off the main thread and named later (`unnamed-files.c`). */
import { check, lazy, loadAddon } from '../load.ts'

interface UnnamedFilesAddon {
  make(dir: string, flags: number, mode: number, count: number): Promise<number[] | number> | number
  name(fd: number, path: string): number
}

const addon = lazy(() => loadAddon<UnnamedFilesAddon>('unnamed-files'))

/**
 * Opens up to `count` (at most 32) new files on the file system of `dir`, which go when they are closed without having
 * got a name. Rejects when there is not even one, with `EOPNOTSUPP` where the file system has no such files.
 */
export const makeUnnamed = async (dir: string, flags: number, mode: number, count: number): Promise<number[]> => {
  const made = await addon().make(dir, flags, mode, count)
  return typeof made === 'number' ? [check('open', made, dir)] : made
}

/** Gives such a file its name. Throws `EEXIST` when something has that, `EXDEV` on another file system. */
export const nameFile = (fd: number, path: string): void => void check('linkat', addon().name(fd, path), path)
