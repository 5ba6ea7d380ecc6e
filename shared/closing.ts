import type { Log } from './log.ts'

/** Closes what was opened in reverse order, with a time limit for each. */
export interface Closing {
  /** Registers a close; the newest is called first. */
  add(name: string, close: () => unknown): void
  /** Closes everything once; a failing or slow close is logged and does not stop the others. */
  close(): Promise<void>
}

export const closing = (deps: { log: Log; boundMs?: number }): Closing => {
  const { log, boundMs = 15_000 } = deps
  const stack: { name: string; close: () => unknown }[] = []
  let done: Promise<void> | undefined
  const run = async () => {
    for (let next = stack.pop(); next; next = stack.pop()) {
      const { name, close } = next
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>(resolve => {
        timer = setTimeout(() => {
          log.warn('close.slow', { name, boundMs })
          resolve()
        }, boundMs)
      })
      await Promise.race([
        Promise.resolve()
          .then(close)
          .catch(error => log.error('close.failed', { name, error })),
        late,
      ])
      clearTimeout(timer)
    }
  }
  return {
    add: (name, close) => void stack.push({ name, close }),
    close: () => (done ??= run()),
  }
}
