import type { Capture } from './output/capture.ts'
import type { ProcessRecord } from './record.ts'
import type { Stdin } from './stdin.ts'

/** A process of the list with what belongs to it while this daemon runs. */
export interface Managed {
  readonly record: ProcessRecord
  /** Its output. Of a finished process it is opened when somebody asks, so that thousands of them cost little. */
  readonly capture: Capture
  /** The capture has ended: from now on only those who read keep it in memory. */
  settle(): void
  /** Closes what is open. */
  close(): void
  /** Resolves at the end for good: after the last restart, with all output captured. */
  readonly finished: Promise<void>
  readonly finish: () => void
  /** Told to live log streams; not part of any output. */
  readonly notices: Set<(text: string) => void>
  stdin: Stdin | undefined
  /** Lets the machine sleep again. */
  release: () => void
  cancelDeadline: () => void
  cancelRestart: () => void
  cancelWatch: () => void
  /** The process group, while members of it are left that may write. */
  lingering: number | undefined
}

const nothing = (): void => undefined

/** `open` opens the capture of a process that has ended; without `live` there is only that. */
export const createManaged = (record: ProcessRecord, open: () => Capture, live?: Capture): Managed => {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (record.status !== 'running') resolve()
  let current = live
  let known: WeakRef<Capture> | undefined
  return {
    record,
    get capture() {
      const found = current ?? known?.deref()
      if (found) return found
      const opened = open()
      known = new WeakRef(opened)
      return opened
    },
    settle() {
      if (current) known = new WeakRef(current)
      current = undefined
    },
    close: () => current?.close(),
    finished: promise,
    finish: resolve,
    notices: new Set(),
    stdin: undefined,
    release: nothing,
    cancelDeadline: nothing,
    cancelRestart: nothing,
    cancelWatch: nothing,
    lingering: undefined,
  }
}
