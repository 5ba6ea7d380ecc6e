/**
 * An end to the record locks (fcntl `F_SETLK`) of a machine. The kernel has none, and charges the 192 bytes of each to nobody
 * (fs/locks.c; the charge of Linux 5.15 was taken back in the same release), so a machine of 128 MB could take all memory of the box.
 */
import { open } from 'node:fs/promises'
import type { Clock } from '../../../../shared/clock.ts'
import type { Log } from '../../../../shared/log.ts'
import { run } from '../command.ts'
import { treeDir, type Hierarchy } from '../cgroup/hierarchy.ts'
import type { Names } from '../names.ts'
import { program } from './programs.ts'

/** Record locks one machine may have: 2 MB of the box. A database has some tens. */
const mostLocks = 10_000

/** So many more are looked at at once: 10 MB. */
const many = 5 * mostLocks

const lookMs = 2_000
/** A box with more locks than that is looked through anew this often, whether or not they have become more. */
const lookAgainMs = 60_000
/** The kernel takes longer for each line the more there are (50,000: 0.6 s), and sandboxes may have many together: a tenth of a processor. */
const mostRestMs = 20_000
const timeoutMs = 120_000

/** Record locks of the box, as far as `most`: they come in the order of processors, so there are more behind. */
const countLocks = async (most: number): Promise<number> => {
  await using file = await open('/proc/locks')
  const buffer = Buffer.alloc(65_536)
  let [count, part] = [0, '']
  while (count <= most) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length)
    if (bytesRead === 0) break
    const lines = (part + buffer.toString('latin1', 0, bytesRead)).split('\n')
    part = lines.pop() as string
    count += lines.filter(line => line.includes(': POSIX ')).length
  }
  return count
}

interface Place {
  readonly hierarchy: Hierarchy
  readonly names: Names
}

/** Ends what holds too many. Resolves with whether nothing did, and the milliseconds of a processor that it took to find out. */
const endLockers = async ({ hierarchy, names }: Place, log: Log, signal: AbortSignal) => {
  const args = [String(mostLocks), treeDir(hierarchy, names.cgroup)]
  const lines = (await run({ step: 'locks', file: program('end-lockers'), args, signal, timeoutMs })).split('\n')
  const ended = lines.slice(0, -1).map(line => line.split(' ') as [machine: string, pid: string, locks: string])
  // A line for each machine: one may have thousands of processes, and start them again.
  for (const [machine, its] of Map.groupBy(ended, ([machine]) => machine)) {
    const next = `a sandbox may have ${mostLocks} record locks: its processes with the most were ended`
    const locks = its.reduce((sum, [, , count]) => sum + Number(count), 0)
    log.warn('locks.ended', { machine, processes: its.length, pid: Number(its[0]?.[1]), locks, next })
  }
  return { well: lines.length === 1, usedMs: Number(lines.at(-1)?.split(' ')[1]) }
}

/**
 * Looks at the number of all locks every two seconds, and at whose they are when they have become more by what one machine may
 * have. Looking through all descriptors takes up to a fifth of a processor, however many there are, unless locks become many meanwhile.
 */
export const watchLocks = (place: Place, { log, clock }: { log: Log; clock: Clock }): (() => Promise<void>) => {
  const closing = new AbortController()
  // What was there when all were last known to be within their limit.
  let known = 0
  let lookedAt = clock.elapsed()
  let restUntil = 0
  let countAgain = 0
  let turn: Promise<void> | undefined
  const look = async (): Promise<void> => {
    const start = clock.elapsed()
    if (start < countAgain) return
    const count = await countLocks(known + many)
    known = Math.min(known, count)
    const now = clock.elapsed()
    countAgain = now + Math.min(10 * (now - start), mostRestMs)
    const due = count > mostLocks && now - lookedAt >= lookAgainMs
    const more = count - known
    if ((more <= mostLocks && !due) || (more <= many && now < restUntil)) return
    const { well, usedMs } = await endLockers(place, log, closing.signal)
    lookedAt = clock.elapsed()
    restUntil = lookedAt + 4 * usedMs
    // Not what there is now: that came meanwhile, and nobody has looked whose it is.
    if (well) known = count
  }
  const failed = (error: unknown) => {
    if (!closing.signal.aborted)
      log.warn('locks.unwatched', { error, next: 'sandboxes may take any number of file locks until this is mended' })
  }
  const stop = clock.every(lookMs, () => {
    turn ??= look()
      .catch(failed)
      .finally(() => (turn = undefined))
  })
  return async () => {
    stop()
    closing.abort()
    await turn
  }
}
