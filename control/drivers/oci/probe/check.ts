/** A probe tries one thing on the box and leaves nothing. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../../../shared/clock.ts'
import { messageOf } from '../../../../shared/errors.ts'
import type { Finding } from '../../driver.ts'

export interface ProbeContext {
  /** Unique on the box; names of everything a probe makes carry it, and are 13 bytes at most with a prefix of 4. */
  readonly word: string
  /** A directory on the data directory's file system, removed afterwards. */
  readonly scratch: string
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

export interface Check {
  /** The driver cannot be used without it. */
  readonly required: boolean
  /** What to do when it fails. */
  readonly next: string
  readonly title: string
  /** Resolves to what was seen; throws when it does not work. */
  run(context: ProbeContext): Promise<string>
}

export interface Result extends Finding {
  readonly required: boolean
}

/** Carries out a check; a failure is a finding and not an error. */
export const carryOut = async (check: Check, context: ProbeContext): Promise<Result> => {
  const { required, title, next } = check
  try {
    const seen = await check.run(context)
    return { ok: true, required, what: seen ? `${title}: ${seen}` : title }
  } catch (error) {
    context.signal?.throwIfAborted()
    return { ok: false, required, what: `${title}: ${messageOf(error)}`, next }
  }
}

const nearest = (path: string): string => (existsSync(path) ? path : nearest(dirname(path)))

/** Gives `task` what probes need; the scratch directory is gone afterwards. */
export const withScratch = async <T>(
  dataDir: string,
  clock: Clock,
  signal: AbortSignal | undefined,
  task: (context: ProbeContext) => Promise<T>,
): Promise<T> => {
  const scratch = await mkdtemp(join(nearest(dataDir), '.probe-'))
  try {
    return await task({ word: randomBytes(4).toString('hex'), scratch, clock, signal })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
