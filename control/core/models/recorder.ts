/** Writes down what calls have used: soon, in one write for many, and each once. Nobody's answer waits for it. */
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { ModelCall, Store } from '../store/store.ts'

/** What waits is written this often; after a failure, as often as it is tried again. */
const [everyMs, againMs] = [100, 1_000]

/** Calls in one write. */
const batch = 500

/** Calls that wait to be written; further ones are lost, and counted. */
const mostWaiting = 50_000

/** Rows are kept for so long. */
const keptMs = 400 * 86_400_000
const pruneEveryMs = 3_600_000
const mostPruned = 10_000

interface Deps {
  readonly store: Pick<Store, 'modelUsage'>
  readonly clock: Clock
  readonly log: Log
}

export class Recorder {
  readonly #deps: Deps
  readonly #waiting: ModelCall[] = []
  #isHealthy = true
  #lost = 0
  #writing: Promise<void> | undefined
  #timer: (() => void) | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Whether calls can be written down, as far as is known. */
  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** Calls that are not written down: those that wait after a failure, and those that are lost. */
  get gap(): { readonly waiting: number; readonly lost: number } {
    return { waiting: this.#isHealthy ? 0 : this.#waiting.length, lost: this.#lost }
  }

  /** Never throws. */
  record(call: ModelCall): void {
    if (this.#waiting.length >= mostWaiting) {
      this.#lost++
      return
    }
    this.#waiting.push(call)
    this.#later()
  }

  /** Resolves when all that was recorded before is written down, or cannot be just now. */
  async flush(): Promise<void> {
    // One that is under way may have begun before the last call was told.
    await this.#writing
    await this.#write()
  }

  stop(): void {
    this.#timer?.()
  }

  #later(): void {
    this.#timer ??= this.#deps.clock.after(this.#isHealthy ? everyMs : againMs, () => {
      this.#timer = undefined
      void this.#write()
    })
  }

  #write(): Promise<void> {
    return (this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
      if (this.#waiting.length > 0) this.#later()
    }))
  }

  async #writeAll(): Promise<void> {
    const { store, log } = this.#deps
    const waiting = this.#waiting
    try {
      while (waiting.length > 0) {
        const calls = waiting.slice(0, batch)
        await store.modelUsage.add(calls)
        waiting.splice(0, calls.length)
        if (!this.#isHealthy) log.info('models.recording', { waiting: waiting.length, lost: this.#lost })
        this.#isHealthy = true
      }
    } catch (error) {
      if (this.#isHealthy) log.error('models.unrecorded', { waiting: waiting.length, reason: messageOf(error), error })
      this.#isHealthy = false
    }
  }
}

/** Also forgets what is old. What waits when the host closes is written down before the store closes. */
export const openRecorder = (deps: Deps, closer: Closing): Recorder => {
  const { store, clock, log } = deps
  const recorder = new Recorder(deps)
  const stop = clock.every(pruneEveryMs, () => {
    store.modelUsage
      .prune(clock.now() - keptMs, mostPruned)
      .catch((error: unknown) => log.warn('models.prune', { reason: messageOf(error) }))
  })
  closer.add('model usage', async () => {
    stop()
    await recorder.flush()
    recorder.stop()
    const { waiting } = recorder.gap
    if (waiting > 0) log.error('models.lost', { calls: waiting })
  })
  return recorder
}
