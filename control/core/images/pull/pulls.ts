/**
 * Pulls under way. One that nobody asks for any more is given up; what came of one is remembered for a while, so that whoever
 * asks next is told.
 */
import type { Clock } from '../../../../shared/clock.ts'
import { fail, isError, messageOf, type AppError } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import { keyedMutex, semaphore } from '../../../../shared/sync.ts'
import type { Progress } from './pull.ts'

export interface Pull {
  readonly workspace: string
  readonly reference: string
  readonly progress: Progress
  /** When it began its present step, epoch ms. */
  readonly since: number
  /** Why it failed; undefined while it runs and when it did not. */
  readonly error: AppError | undefined
}

export interface Pulls {
  /**
   * The pull of that reference for that workspace, begun unless it runs or has just failed. Asked for again and again by whoever
   * wants it. A failure that another try may mend is answered once, then it is tried again.
   */
  want(workspace: string, reference: string, run: Run): Pull
  find(workspace: string, reference: string): Pull | undefined
  /** Of a workspace, those that run and those that failed lately. */
  list(workspace: string): Pull[]
  /** Calls back with every change until the returned function is called. */
  follow(workspace: string, reference: string, changed: (progress: Progress) => void): () => void
  /** Ends all of them and waits. */
  close(): Promise<void>
}

export type Run = (tell: (change: Partial<Progress>) => void, signal: AbortSignal) => Promise<unknown>

/** Nobody has asked for so long: nobody wants it any more. */
const abandonedMs = 30_000
/** How long a failure is the answer to whoever asks: for those who have waited, not for the next who tries. */
const failedMs = 5_000
/** How long what came of a pull can be looked at. */
const rememberedMs = 600_000
const mostRemembered = 1_000

interface Entry extends Pull {
  progress: Progress
  since: number
  error: AppError | undefined
  askedAt: number
  endedAt: number | undefined
  /** Somebody has been told why it failed. */
  told: boolean
  readonly stop: AbortController
  readonly followers: Set<(progress: Progress) => void>
  done: Promise<void>
}

const beginning: Progress = { step: 'waiting', layers: { done: 0, total: 0 }, bytes: { done: 0, total: 0 } }

const isAnswer = ({ endedAt, error, told }: Entry, now: number): boolean => {
  if (endedAt === undefined) return true
  if (!error || now - endedAt > failedMs) return false
  return !(error.retry && told)
}

const keyOf = (workspace: string, reference: string): string => `${workspace}\0${reference}`

interface Context {
  readonly clock: Clock
  readonly log: Log
  readonly timeMs: number
  readonly entries: Map<string, Entry>
  readonly turn: ReturnType<typeof semaphore>
  /** One at a time of each: none keeps all the turns from others. */
  readonly ofWorkspace: ReturnType<typeof keyedMutex>
}

const tell = ({ clock }: Context, entry: Entry, change: Partial<Progress>): void => {
  if (change.step) entry.since = clock.now()
  entry.progress = { ...entry.progress, ...change }
  for (const follower of entry.followers) follower(entry.progress)
}

/** Nobody who waits for it is to wait for ever: a pull has its time, its turn included. */
const limitTime = ({ clock, timeMs }: Context, entry: Entry): (() => void) =>
  clock.after(timeMs, () => {
    const reason = `it was not here within ${timeMs / 1000} seconds`
    const { reference, stop, progress } = entry
    // Who has not had a turn can try again.
    stop.abort(
      progress.step === 'waiting'
        ? fail('image_failed', { image: reference, step: 'pull', reason })
        : fail('image_refused', { image: reference, reason }),
    )
  })

const work = async (context: Context, entry: Entry, run: Run): Promise<void> => {
  const { clock, log, turn, ofWorkspace } = context
  const { workspace, reference, stop } = entry
  const about = { image: reference, workspace }
  const begun = clock.elapsed()
  const inTime = limitTime(context, entry)
  try {
    const pull = async () => {
      stop.signal.throwIfAborted()
      log.info('image.pulling', about)
      await run(change => tell(context, entry, change), stop.signal)
    }
    await ofWorkspace(workspace, () => turn(pull))
    log.info('image.pulled', { ...about, ms: Math.round(clock.elapsed() - begun) })
    entry.endedAt = clock.elapsed()
    tell(context, entry, { step: 'done' })
  } catch (error) {
    entry.endedAt = clock.elapsed()
    entry.error = isError(error)
      ? error
      : fail('image_failed', { image: reference, step: 'pull', reason: messageOf(error) }, error)
    log.warn('image.pull.failed', { ...about, reason: entry.error.message })
    tell(context, entry, { step: 'failed', error: entry.error.message })
  } finally {
    inTime()
  }
}

const begin = (context: Context, workspace: string, reference: string, run: Run): Entry => {
  const { clock, entries } = context
  const key = keyOf(workspace, reference)
  const entry: Entry = {
    workspace,
    reference,
    progress: beginning,
    since: clock.now(),
    error: undefined,
    askedAt: clock.elapsed(),
    endedAt: undefined,
    told: false,
    stop: new AbortController(),
    done: Promise.resolve(),
    // Who looks at an earlier one goes on with this.
    followers: new Set(entries.get(key)?.followers),
  }
  entries.delete(key)
  entries.set(key, entry)
  entry.done = work(context, entry, run)
  return entry
}

/** Gives up what nobody waits for, and forgets what is over. */
const tidy = ({ clock, entries }: Context): void => {
  const now = clock.elapsed()
  for (const [key, { endedAt, askedAt, followers, reference, stop }] of entries) {
    const isOver = endedAt !== undefined
    if (!isOver && followers.size === 0 && now - askedAt > abandonedMs)
      stop.abort(fail('image_failed', { image: reference, step: 'pull', reason: 'nobody waits for it any more' }))
    if (isOver && (now - endedAt > rememberedMs || entries.size > mostRemembered)) entries.delete(key)
  }
}

export const createPulls = (
  { atOnce, timeMs }: { readonly atOnce: number; readonly timeMs: number },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Pulls => {
  const entries = new Map<string, Entry>()
  const context: Context = { clock, log, timeMs, entries, turn: semaphore(atOnce), ofWorkspace: keyedMutex() }
  const stopTidying = clock.every(5_000, () => tidy(context))
  return {
    want(workspace, reference, run) {
      const found = entries.get(keyOf(workspace, reference))
      const now = clock.elapsed()
      const entry = found && isAnswer(found, now) ? found : begin(context, workspace, reference, run)
      entry.askedAt = now
      entry.told = entry.error !== undefined
      return entry
    },
    find: (workspace, reference) => entries.get(keyOf(workspace, reference)),
    list: workspace =>
      [...entries.values()].filter(one => one.workspace === workspace && (one.endedAt === undefined || one.error)),
    follow(workspace, reference, changed) {
      const entry = entries.get(keyOf(workspace, reference))
      entry?.followers.add(changed)
      if (entry) changed(entry.progress)
      return () => {
        entry?.followers.delete(changed)
        entries.get(keyOf(workspace, reference))?.followers.delete(changed)
      }
    },
    async close() {
      stopTidying()
      const running = [...entries.values()].filter(({ endedAt }) => endedAt === undefined)
      for (const { stop } of running) stop.abort(fail('unavailable', { what: 'this host stops', next: 'try again' }))
      await Promise.all(running.map(({ done }) => done))
    },
  }
}
