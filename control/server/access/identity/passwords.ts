/** Passwords: what is kept of them, and how often somebody may try. */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** 32 MiB and some 80 ms of a processor. */
const log2Cost = 15
const optionsFor = (log2: number): ScryptOptions => ({ N: 2 ** log2, r: 8, p: 1, maxmem: 256 * 2 ** log2 * 8 })

/** `scrypt$15$salt$hash`. */
export const sealPassword = async (password: string): Promise<string> => {
  const salt = randomBytes(16)
  const hash = await derive(password.normalize(), salt, 32, optionsFor(log2Cost))
  return ['scrypt', log2Cost, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Of nobody: takes as long to refuse as a wrong one. */
const nobodys = `scrypt$${log2Cost}$AAAAAAAAAAAAAAAAAAAAAA$${'A'.repeat(43)}`

export const isPassword = async (password: string, sealed: string | null | undefined): Promise<boolean> => {
  const [, log2 = '', salt = '', hash = ''] = (sealed ?? nobodys).split('$')
  const known = Buffer.from(hash, 'base64url')
  const given = await derive(
    password.normalize(),
    Buffer.from(salt, 'base64url'),
    known.length,
    optionsFor(Number(log2)),
  )
  return timingSafeEqual(given, known) && typeof sealed === 'string'
}

const least = 12
const most = 200

/** Throws `invalid_argument`. */
export const needGoodPassword = (password: string): void => {
  if (password.length < least || password.length > most)
    throw fail('invalid_argument', { field: 'password', reason: `must have from ${least} to ${most} characters` })
}

const windowMs = 15 * 60_000

/** Names that are remembered; beyond, the oldest are forgotten. */
const mostNames = 10_000

export interface Attempts {
  /** Throws `too_many_attempts` when `name` has failed too often lately; else it counts as failed until it `succeeded`. */
  begin(name: string, most: number): void
  succeeded(name: string): void
  /** The last one was none. */
  takeBack(name: string): void
}

export const createAttempts = (clock: Pick<Clock, 'now'>): Attempts => {
  const failed = new Map<string, number[]>()
  return {
    begin(name, mostFailed) {
      const now = clock.now()
      const lately = (failed.get(name) ?? []).filter(at => at > now - windowMs)
      const [first] = lately
      if (first !== undefined && lately.length >= mostFailed)
        throw fail('too_many_attempts', { retryAfterS: Math.ceil((first + windowMs - now) / 1000) })
      failed.delete(name)
      failed.set(name, [...lately, now])
      const [oldest] = failed.keys()
      if (failed.size > mostNames && oldest !== undefined) failed.delete(oldest)
    },
    succeeded: name => void failed.delete(name),
    takeBack: name => void failed.get(name)?.pop(),
  }
}
