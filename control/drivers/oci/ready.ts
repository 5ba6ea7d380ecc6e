/** Waits for the daemon of a machine to answer. */
import { watch } from 'node:fs'
import { connect } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'

export interface ReadyInput {
  readonly host: string
  readonly port: number
  /** The file that the first process writes to. */
  readonly output: string
  /** Whether it has said there that it listens. */
  readonly hasSaid: () => boolean
  /** Says that the first process has ended, so that nobody waits for the dead. */
  readonly hasEnded: () => Promise<boolean>
  /** What it said before it ended. */
  readonly lastWords: () => Promise<string>
  readonly signal?: AbortSignal | undefined
}

const boundMs = 60_000
/**
 * Between two tries, should it say nothing. Where the kernel tells what it says they are for one that has ended without a word: of many that
 * start at a time each try is processor time that they all wait for. Elsewhere every 25 ms, later a twentieth of the time it took so far.
 */
const betweenMs = (elapsedMs: number, isWatched: boolean): number =>
  isWatched ? 200 : Math.min(50, Math.max(25, elapsedMs / 20))

/** Of so many tries one looks whether the first process has ended, and where it is watched one asks it. */
const seldom = 4

/** One try: true when something that speaks HTTP answers. No more than the first piece of it is read. */
const answers = (host: string, port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect({ host, port, noDelay: true })
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(10_000, () => end(false))
    socket.on('error', () => end(false))
    socket.on('close', () => end(false))
    socket.on('connect', () => socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'))
    socket.once('data', piece => end(piece.toString('latin1').startsWith('HTTP/1.')))
  })

interface Changes {
  /** Resolves with the first change of the file since it was last called; never where it is not watched. */
  next(): Promise<void>
  isWatched(): boolean
  close(): void
}

const changesOf = (file: string): Changes => {
  let gate = Promise.withResolvers<void>()
  const next = async () => {
    await gate.promise
    gate = Promise.withResolvers()
  }
  try {
    let watches = true
    const watcher = watch(file, { persistent: false }, () => gate.resolve())
    const close = () => {
      watches = false
      watcher.close()
    }
    watcher.on('error', close)
    return { next, isWatched: () => watches, close }
  } catch {
    // The file is not there, or the box has no watches left: then it is asked.
    return { next, isWatched: () => false, close: () => {} }
  }
}

/**
 * Resolves when the daemon has said in its output that it listens, which the kernel tells at once, or answers: where its
 * output is not seen, it is asked from time to time.
 */
export const untilReady = async (input: ReadyInput, clock: Clock): Promise<void> => {
  const changes = changesOf(input.output)
  try {
    await wait(input, changes, clock)
  } finally {
    changes.close()
  }
}

const wait = async (input: ReadyInput, changes: Changes, clock: Clock): Promise<void> => {
  const { host, port, hasSaid, hasEnded, lastWords, signal } = input
  const start = clock.elapsed()
  for (let tries = 0; ; ) {
    signal?.throwIfAborted()
    if (hasSaid()) return
    const elapsed = clock.elapsed() - start
    const late = new AbortController()
    const stop = signal ? AbortSignal.any([signal, late.signal]) : late.signal
    const sleep = clock.sleep(betweenMs(elapsed, changes.isWatched()), stop).then(() => true)
    const isLate = await Promise.race([sleep.catch(() => true), changes.next().then(() => false)])
    late.abort()
    if (!isLate && elapsed <= boundMs) continue
    tries++
    signal?.throwIfAborted()
    const [asks, looks] = changes.isWatched() ? [seldom, 1] : [1, seldom]
    if ((tries % asks === 0 || elapsed > boundMs) && (await answers(host, port))) return
    if (tries % looks === 0 && (await hasEnded()))
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'boot',
        reason: `the first process ended before it answered: ${await lastWords()}`,
      })
    if (elapsed > boundMs)
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'boot',
        reason: `no answer at ${host}:${port} within ${boundMs} ms: ${await lastWords()}`,
      })
  }
}
