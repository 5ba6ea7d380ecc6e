import type { Capture } from './output/capture.ts'
import type { ProcessRecord } from './record.ts'
import type { Stdin } from './stdin.ts'

/** A process of the list with what belongs to it while this daemon runs. */
export interface Managed {
  readonly record: ProcessRecord
  readonly capture: Capture
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

export const createManaged = (record: ProcessRecord, capture: Capture): Managed => {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (record.status !== 'running') resolve()
  return {
    record,
    capture,
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
