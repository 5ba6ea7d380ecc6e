/**
 * Pseudo-terminals from node-pty's native part. Its public interface would also start the shell, without our limits.
 */
import { closeSync, constants, openSync } from 'node:fs'
import * as nodePty from 'node-pty'
import { keepOverExec } from '../native/descriptors/descriptors.ts'
import type { PtyOpener } from '../native/pty/pty.ts'

/** The part of the binding that is used; node-pty's own types do not describe it. */
interface PtyBinding {
  open(cols: number, rows: number): { master: number; slave: number; pty: string }
  resize(fd: number, cols: number, rows: number): void
}

const { native } = nodePty as unknown as { native?: Partial<PtyBinding> }

/** Undefined when this node-pty has no such native part. */
export const nodePtyOpener = (): PtyOpener | undefined => {
  const { open, resize } = native ?? {}
  if (!open || !resize) return undefined
  return {
    open(cols, rows) {
      const opened = open(cols, rows)
      try {
        // The terminal would not end while a child of the daemon held it.
        keepOverExec(opened.master, false)
        // Opened again by its name: node-pty makes its slave non-blocking, the shell would share that flag, and output that
        // comes faster than we read would fail with EAGAIN.
        return { master: opened.master, slave: openSync(opened.pty, constants.O_RDWR | constants.O_NOCTTY) }
      } catch (error) {
        closeSync(opened.master)
        throw error
      } finally {
        closeSync(opened.slave)
      }
    },
    resize,
  }
}
