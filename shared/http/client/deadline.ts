/** One signal for the ways in which a call is given up: its caller's, and its time. */
export interface Deadline {
  readonly signal: AbortSignal
  /** The time begins anew; another one if it is given. 0 stops it. */
  again(ms?: number): void
  giveUp(reason: unknown): void
  /** Nothing is given up any more. */
  stop(): void
}

/** `late` makes the reason when `ms` are over. `Infinity` is no limit. */
export const deadline = (given: AbortSignal | undefined, ms: number, late: (ms: number) => Error): Deadline => {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let length = ms
  const again = (next = length): void => {
    clearTimeout(timer)
    length = next
    // Node takes longer ones for 1 ms.
    if (length > 0 && length < 2 ** 31) timer = setTimeout(() => giveUp(late(length)), length)
  }
  const giveUp = (reason: unknown): void => controller.abort(reason)
  const left = (): void => giveUp(given?.reason)
  if (given?.aborted) left()
  else given?.addEventListener('abort', left, { once: true })
  again()
  return {
    signal: controller.signal,
    again,
    giveUp,
    stop() {
      clearTimeout(timer)
      given?.removeEventListener('abort', left)
    },
  }
}
