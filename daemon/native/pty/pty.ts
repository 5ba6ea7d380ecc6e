/** Pseudo-terminals (`pty.c`). */
import { check, lazy, loadAddon } from '../load.ts'

/** Makes and sizes pseudo-terminals. */
export interface PtyOpener {
  /** Both sides of a new terminal, closed on exec; they belong to the caller. The master does not block, the slave does. */
  open(cols: number, rows: number): { master: number; slave: number }
  /** Sets the size of the terminal that either side belongs to. */
  resize(fd: number, cols: number, rows: number): void
}

interface PtyAddon {
  open_pty(): [master: number, slave: number] | number
  resize(fd: number, cols: number, rows: number): number
}

const addon = lazy(() => loadAddon<PtyAddon>('pty'))

const resize = (fd: number, cols: number, rows: number): void => void check('ioctl', addon().resize(fd, cols, rows))

export const nativePtyOpener: PtyOpener = {
  open(cols, rows) {
    const opened = addon().open_pty()
    if (typeof opened === 'number') {
      check('openpty', opened)
      throw new Error('openpty: no descriptors')
    }
    const [master, slave] = opened
    resize(master, cols, rows)
    return { master, slave }
  },
  resize,
}
