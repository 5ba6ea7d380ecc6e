/** Lines for a client that may read slowly: the queue is bounded, and the client hears when lines were dropped. */
import { once } from 'node:events'
import type { Writable } from 'node:stream'

export interface Feed {
  push(line: string): void
  /** Writes until `signal` aborts. */
  pump(out: Writable, signal: AbortSignal): Promise<void>
}

const limitChars = 8 * 1024 * 1024

/** `onLost` runs when the client reads again after lines were dropped. */
export const createFeed = (onLost: () => void, limit = limitChars): Feed => {
  let waiting: string[] = []
  let size = 0
  let lost = false
  let wake = () => {}

  return {
    push(line) {
      if (lost) return
      waiting.push(line)
      size += line.length
      if (size > limit) {
        lost = true
        waiting = []
      }
      wake()
    },
    async pump(out, signal) {
      signal.addEventListener('abort', () => wake(), { once: true })
      while (!signal.aborted) {
        if (lost) {
          lost = false
          size = 0
          onLost()
        }
        if (waiting.length === 0) {
          await new Promise<void>(resolve => (wake = resolve))
          continue
        }
        const text = waiting.join('')
        waiting = []
        size = 0
        if (!out.write(text)) await once(out, 'drain', { signal }).catch(() => {}) // aborted: the loop ends
      }
    },
  }
}
