/** Whether this host can do its work: keep records, reach its machines, write files. */
import { statfs } from 'node:fs/promises'
import type { Clock } from '../../../shared/clock.ts'
import { errno, isError } from '../../../shared/errors.ts'
import type { Surveyed } from '../../core/machines/runner.ts'
import type { Upkeep } from '../../core/store/store.ts'

export interface Health {
  readonly status: 'ok' | 'failing'
  /** `ok`, or what is wrong, in words that say nothing of the box. */
  readonly database: string
  readonly drivers: string
  readonly disk: string
  readonly draining: boolean
}

export interface HealthDeps {
  readonly dataDir: string
  readonly upkeep: Pick<Upkeep, 'tryWriting'>
  readonly surveyed: () => Surveyed
  readonly draining: () => boolean
  readonly clock: Clock
}

/** Below this nothing starts (data-dir.ts), so nothing is well either. */
const minFreeBytes = 64 * 1024 * 1024
/** An answer is as old as this, ms: whoever asks without a key is not to make the disk work. */
const freshMs = 1_000
/** Looks at the box come every five seconds. */
const staleSurveyMs = 30_000

const databaseOf = ({ upkeep }: HealthDeps): Promise<string> =>
  upkeep.tryWriting().then(
    () => 'ok',
    error => (isError(error, 'busy') ? 'locked by another process' : 'cannot be written'),
  )

const driversOf = ({ surveyed, clock }: HealthDeps): string => {
  const { at, failed } = surveyed()
  if (failed > 0) return `${failed} cannot list ${failed === 1 ? 'its' : 'their'} machines`
  return clock.elapsed() - at > staleSurveyMs ? 'no look at the machines has ended lately' : 'ok'
}

const diskOf = async ({ dataDir }: HealthDeps): Promise<string> => {
  try {
    const { bavail, bsize, ffree, files } = await statfs(dataDir)
    if (bavail * bsize < minFreeBytes) return 'full'
    // File systems that have no fixed number of inodes say 0 of 0.
    return files > 0 && ffree === 0 ? 'no inodes left' : 'ok'
  } catch (error) {
    return `cannot be looked at (${errno(error) ?? 'unknown'})`
  }
}

/** Looks when somebody asks; who asks within a second is told what was seen. */
export const createHealth = (deps: HealthDeps): (() => Promise<Health>) => {
  const { clock, draining } = deps
  let last: { readonly at: number; readonly seen: Promise<Omit<Health, 'draining'>> } | undefined
  const look = async () => {
    const [database, disk] = await Promise.all([databaseOf(deps), diskOf(deps)])
    const drivers = driversOf(deps)
    const status = [database, drivers, disk].every(one => one === 'ok') ? ('ok' as const) : ('failing' as const)
    return { status, database, drivers, disk }
  }
  return async () => {
    if (!last || clock.elapsed() - last.at > freshMs) last = { at: clock.elapsed(), seen: look() }
    return { ...(await last.seen), draining: draining() }
  }
}
