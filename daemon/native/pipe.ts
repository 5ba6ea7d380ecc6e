import { check, lazy, loadAddon } from './load.ts'

interface PipeAddon {
  make_pipe(): number
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
