/** Runs tasks of the same key one after the other; different keys run side by side. */
export const keyedMutex = () => {
  const tails = new Map<string, Promise<unknown>>()
  return <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const before = tails.get(key) ?? Promise.resolve()
    const mine = before.then(task, task)
    tails.set(key, mine)
    const forget = () => {
      if (tails.get(key) === mine) tails.delete(key)
    }
    mine.then(forget, forget)
    return mine
  }
}

/** At most `limit` tasks at a time, first come first served. */
export const semaphore = (limit: number) => {
  let running = 0
  const waiting: (() => void)[] = []
  const release = () => {
    // The place goes straight to the next in line, so that no later caller can take it.
    const next = waiting.shift()
    if (next) next()
    else running--
  }
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running < limit) running++
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await task()
    } finally {
      release()
    }
  }
}
