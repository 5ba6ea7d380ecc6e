import type { Capture } from './output/capture.ts'
import type { ProcessRecord } from './record.ts'
import type { Stdin } from './stdin.ts'

/** A listed process, with everything that belongs to it while this daemon runs. */
export interface Managed {
  readonly record: ProcessRecord
  /** Its output. That of a finished process is opened when it is used, so that thousands of them cost little. */
  readonly capture: Capture
  /** Somebody follows its output. */
  readonly isRead: boolean
  /** The capture has ended: from now on only its readers keep it in memory. */
  settle(): void
  /** Closes what is open. */
  close(): void
  /** Resolves at the final end: after the last restart, with all output captured. */
  readonly finished: Promise<void>
  /** The final end has come: releases what only a running process needs. */
  finish(): void
  /** Called with notices for live log streams; they are not part of any output. */
  readonly notices: Set<(text: string) => void>
  stdin: Stdin | undefined
  /** Lets the machine sleep again. */
  release: () => void
  cancelDeadline: () => void
  cancelRestart: () => void
  cancelWatch: () => void
  /** The process group, while it has members that may write. */
  lingering: number | undefined
}

const nothing = (): void => undefined

const ended = Promise.resolve()

/** A class, because thousands of them are kept: a closure for each of its functions would be most of their memory. */
class ManagedProcess implements Managed {
  readonly record: ProcessRecord
  stdin: Stdin | undefined = undefined
  release = nothing
  cancelDeadline = nothing
  cancelRestart = nothing
  cancelWatch = nothing
  lingering: number | undefined = undefined
  readonly #open: () => Capture
  #current: Capture | undefined
  #known: WeakRef<Capture> | undefined
  #end: PromiseWithResolvers<void> | undefined
  #notices: Set<(text: string) => void> | undefined

  constructor(record: ProcessRecord, open: () => Capture, live: Capture | undefined) {
    this.record = record
    this.#open = open
    this.#current = live
    if (record.status === 'running') this.#end = Promise.withResolvers()
  }

  get capture(): Capture {
    const found = this.#current ?? this.#known?.deref()
    if (found) return found
    const opened = this.#open()
    this.#known = new WeakRef(opened)
    return opened
  }
  get isRead(): boolean {
    return (this.#current ?? this.#known?.deref())?.isHeld ?? false
  }
  settle(): void {
    if (this.#current) this.#known = new WeakRef(this.#current)
    this.#current = undefined
  }
  close(): void {
    this.#current?.close()
  }
  get finished(): Promise<void> {
    return this.#end?.promise ?? ended
  }
  finish(): void {
    this.#end?.resolve()
    this.#end = this.#notices = undefined
    this.release = this.cancelDeadline = this.cancelRestart = this.cancelWatch = nothing
  }
  get notices(): Set<(text: string) => void> {
    return (this.#notices ??= new Set())
  }
}

/** `open` opens the capture of a process that has ended; without `live` there is only that. */
export const createManaged = (record: ProcessRecord, open: () => Capture, live?: Capture): Managed =>
  new ManagedProcess(record, open, live)
