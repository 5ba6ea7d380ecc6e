import { check, lazy, loadAddon } from '../load.ts'

interface PipeAddon {
  make_pipe(): number
  memory_file(): number
  copy(fd: number): number
  keep(fd: number, yes: boolean): number
}

const addon = lazy(() => loadAddon<PipeAddon>('pipe'))

/** A pipe; both ends are closed on exec and belong to the caller. */
export const makePipe = (): { read: number; write: number } => {
  const ends = check('pipe', addon().make_pipe())
  return { read: ends % 2 ** 20, write: Math.floor(ends / 2 ** 20) }
}

/** Lets a descriptor outlive an exec of this process, or not. */
export const keepOverExec = (fd: number, yes: boolean): void => void check('fcntl', addon().keep(fd, yes))

/** A file in memory and in no directory: only its descriptors reach it. Closed on exec; belongs to the caller. */
export const memoryFile = (): number => check('memfd_create', addon().memory_file())

/** Another descriptor of the same open file or socket. Closed on exec; belongs to the caller. */
export const copyDescriptor = (fd: number): number => check('fcntl', addon().copy(fd))
