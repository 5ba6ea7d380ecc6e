/**
 * Fires what records say is due. Times are computed from what is stored, never from a timer's memory, and a fire is
 * claimed by a conditional write before anything is run: each time that comes while the server is up fires once, times
 * that passed while it was down fire once together, and a step of the wall clock fires nothing twice.
 */
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Resource, Store, Written } from '../store/store.ts'
import type { Move, Transition } from '../transitions/transition.ts'

export interface Fire {
  readonly record: Resource
  /** The time it was due, epoch ms. */
  readonly due: number
  /** It stands for times that passed while nothing could fire. */
  readonly catchUp: boolean
  readonly now: number
}

/** A kind whose records fire. */
export interface Source {
  readonly kind: string
  /** When a record fires next, epoch ms; undefined: never. */
  next(record: Resource): number | undefined
  /** What claims a fire: written with it or not at all. After it `next` is later, or the record is gone. */
  claim(fire: Fire): { readonly moves: readonly Move[]; run(signal: AbortSignal): Promise<void> }
}

export interface Scheduler {
  /** To be told of everything that is written. */
  written(written: Pick<Written, 'resources' | 'removed'>): void
  /** Reads what is stored and fires from now on. */
  begin(transition: Pick<Transition, 'write'>): Promise<void>
}

/** The wall clock may step: what is due is looked at this often at least, ms. */
const minuteMs = 60_000
/** A fire that is later than this makes up for time in which nothing could fire, ms. */
const lateMs = 90_000
/** Wait after a failure to claim that is no conflict, ms. */
const retryMs = 5_000

interface Deps {
  readonly store: Pick<Store, 'resources'>
  readonly clock: Clock
  readonly log: Log
  readonly sources: readonly Source[]
  /** How often what is due is looked at though nothing seems to be, ms; a minute unless given. */
  readonly lookEveryMs?: number
}

/** When each record that fires does so next. */
const createBook = (sources: ReadonlyMap<string, Source>) => {
  const known = new Map<string, { readonly source: Source; next: number }>()
  return {
    learn(record: Resource): void {
      const source = sources.get(record.kind)
      const next = source?.next(record)
      if (source && next !== undefined) known.set(record.uid, { source, next })
      else known.delete(record.uid)
    },
    forget: (uid: string): boolean => known.delete(uid),
    putOff(uid: string, until: number): void {
      const one = known.get(uid)
      if (one) one.next = until
    },
    due: (now: number) => [...known].flatMap(([uid, { source, next }]) => (next <= now ? [{ uid, source }] : [])),
    soonest: (): number => Math.min(...[...known.values()].map(({ next }) => next)),
  }
}

type Book = ReturnType<typeof createBook>

interface Firing extends Deps {
  readonly book: Book
  readonly write: Transition['write']
  /** Keeps what was claimed going until its end. */
  readonly go: (kind: string, run: (signal: AbortSignal) => Promise<void>) => void
}

/** Claims what a record has due, and has it run. Throws `changed_meanwhile` when another write came first. */
const fire = async ({ store, clock, log, book, write, go }: Firing, uid: string, source: Source): Promise<void> => {
  const record = await store.resources.getByUid(uid)
  if (!record) return void book.forget(uid)
  const due = source.next(record)
  const now = clock.now()
  if (due === undefined || due > now) return book.learn(record)
  const catchUp = now - due > lateMs
  const { moves, run } = source.claim({ record, due, catchUp, now })
  await write(moves)
  log.info('schedule.fired', { kind: source.kind, name: record.name, uid, due: new Date(due).toISOString(), catchUp })
  go(source.kind, run)
}

const fireDue = async (firing: Firing, signal: AbortSignal): Promise<void> => {
  const { clock, log, book } = firing
  for (const { uid, source } of book.due(clock.now())) {
    if (signal.aborted) return
    try {
      await fire(firing, uid, source)
    } catch (error) {
      // What is due is read anew at the next look.
      if (isError(error, 'changed_meanwhile')) continue
      book.putOff(uid, clock.now() + retryMs)
      log.error('schedule.failed', { kind: source.kind, uid, reason: messageOf(error), error })
    }
  }
}

/** Runs of fires that were claimed; `close` aborts them and waits. */
const createRuns = (log: Log) => {
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()
  return {
    signal: stopping.signal,
    go(kind: string, run: (signal: AbortSignal) => Promise<void>): void {
      const going = run(stopping.signal)
        .catch((error: unknown) => log.error('schedule.failed', { kind, reason: messageOf(error), error }))
        .finally(() => running.delete(going))
      running.add(going)
    },
    stop: () => stopping.abort(),
    ended: async () => void (await Promise.all(running)),
  }
}

/** Looks when the next time comes, and once more when something changed during a look. */
const createTimer = (
  { clock, lookEveryMs = minuteMs }: Pick<Deps, 'clock' | 'lookEveryMs'>,
  soonest: () => number,
  look: () => Promise<void>,
) => {
  let cancel = () => {}
  let looking: Promise<void> | undefined
  let isStopped = false
  const plan = (): void => {
    cancel()
    if (isStopped) return
    const ms = Math.min(soonest() - clock.now(), lookEveryMs)
    cancel = clock.after(Math.max(ms, 0), () => {
      looking = look().finally(() => {
        looking = undefined
        plan()
      })
    })
  }
  return {
    /** A look that is under way plans the next one by itself. */
    changed(): void {
      if (!looking) plan()
    },
    async stop(): Promise<void> {
      isStopped = true
      cancel()
      await looking
    },
  }
}

export const createScheduler = (deps: Deps, closer: Closing): Scheduler => {
  const { store, log } = deps
  const sources = new Map(deps.sources.map(source => [source.kind, source]))
  const book = createBook(sources)
  const runs = createRuns(log)
  let timer: ReturnType<typeof createTimer> | undefined
  closer.add('scheduler', async () => {
    runs.stop()
    await timer?.stop()
    await runs.ended()
  })
  return {
    written({ resources, removed }) {
      const forgotten = removed.filter(({ uid }) => book.forget(uid))
      const ours = resources.filter(({ kind }) => sources.has(kind))
      for (const record of ours) book.learn(record)
      if (ours.length > 0 || forgotten.length > 0) timer?.changed()
    },
    async begin({ write }) {
      // A row that cannot be read fires nothing; the doctor names it.
      for (const kind of sources.keys())
        for (const record of await store.resources.everyOf(kind, () => {})) book.learn(record)
      const firing = { ...deps, book, write, go: runs.go }
      timer = createTimer(deps, book.soonest, () => fireDue(firing, runs.signal))
      timer.changed()
    },
  }
}
