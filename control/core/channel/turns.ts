/** So many at a time for each name; further ones wait for their turn. */
import { semaphore } from '../../../shared/sync.ts'

export interface Turns {
  inTurn<T>(name: string, task: () => Promise<T>): Promise<T>
}

export const createTurns = (most: number): Turns => {
  const all = new Map<string, { readonly turn: ReturnType<typeof semaphore>; users: number }>()
  return {
    async inTurn(name, task) {
      const one = all.get(name) ?? { turn: semaphore(most), users: 0 }
      all.set(name, one)
      one.users++
      try {
        return await one.turn(task)
      } finally {
        if (--one.users === 0) all.delete(name)
      }
    },
  }
}
