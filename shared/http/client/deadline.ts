/** One signal for everything that ends a call early: its caller, its time limit, or `abort`. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Starts the time limit again, with another length if one is given. */
  restart(ms?: number): void
  abort(reason: unknown): void
  /** Ends the time limit and stops listening to the caller. */
  stop(): void
}

/** `late` makes the abort reason when `ms` have passed. `Infinity` is no limit. */
export const deadline = (given: AbortSignal | undefined, ms: number, late: (ms: number) => Error): Deadline => {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let length = ms
  const restart = (next = length): void => {
    clearTimeout(timer)
    length = next
    // Node runs timers beyond 2^31 ms at once.
    if (length > 0 && length < 2 ** 31) timer = setTimeout(() => abort(late(length)), length)
  }
  const abort = (reason: unknown): void => controller.abort(reason)
  const left = (): void => abort(given?.reason)
  if (given?.aborted) left()
  else given?.addEventListener('abort', left, { once: true })
  restart()
  return {
    signal: controller.signal,
    restart,
    abort,
    stop() {
      clearTimeout(timer)
      given?.removeEventListener('abort', left)
    },
  }
}
