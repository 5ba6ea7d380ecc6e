/** Those who wait for something that is being made, first come first served. */
export interface Queue<T> {
  readonly length: number
  wait(signal?: AbortSignal): Promise<T>
  /** Gives to the one who has waited longest; false when nobody waits. */
  give(value: T): boolean
  /** Sends everybody away. */
  fail(error: unknown): void
}

interface Waiter<T> {
  resolve(value: T): void
  reject(error: unknown): void
}

export const queue = <T>(): Queue<T> => {
  const waiting: Waiter<T>[] = []
  return {
    get length() {
      return waiting.length
    },
    wait(signal) {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const waiter = { resolve, reject }
      waiting.push(waiter)
      const giveUp = () => {
        const at = waiting.indexOf(waiter)
        if (at >= 0) waiting.splice(at, 1)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      return promise.finally(() => signal?.removeEventListener('abort', giveUp))
    },
    give(value) {
      const waiter = waiting.shift()
      waiter?.resolve(value)
      return waiter !== undefined
    },
    fail(error) {
      for (const waiter of waiting.splice(0)) waiter.reject(error)
    },
  }
}
