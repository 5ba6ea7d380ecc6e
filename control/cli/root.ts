import { fail } from '../../shared/errors.ts'

/** Throws `unavailable` with one line of advice unless this process is root's. */
export const needRoot = (why: string, line: string): void => {
  if (process.getuid?.() !== 0)
    throw fail('unavailable', { what: `${why}, which needs root`, next: `run: sudo ${line}` })
}
