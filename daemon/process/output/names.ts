import { createHash } from 'node:crypto'
import { fail } from '../../../shared/errors.ts'

/** Throws `invalid_argument` for a name that cannot be one: it is part of addresses and of file names. */
export const checkName = (name: string): void => {
  if (name.includes('/')) throw fail('invalid_argument', { field: 'name', reason: 'must not contain /' })
  if (/^\.{1,2}$/.test(name)) throw fail('invalid_argument', { field: 'name', reason: 'must not be . or ..' })
}

const maxKeyLength = 160
/** Names we choose, and most that people choose: they need no encoding. */
const plainName = /^[\w-]{1,160}$/

/**
 * The stem of a process's files: the name itself where that is safe, else percent-encoded. Two names never share one:
 * `~` marks earlier runs, and a name that ends like a file of another one is encoded too.
 */
export const logKey = (name: string): string => {
  if (plainName.test(name)) return name
  const safe = encodeURIComponent(name.toWellFormed())
    .replaceAll('~', '%7E')
    .replace(/^\./, '%2E')
    .replace(/\.(stdout|stderr)$/i, '%2E$1')
  if (safe.length <= maxKeyLength) return safe
  return `${safe.slice(0, 100)}~${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/** The files of the run with this key: output where people look for it, positions where only the daemon writes. */
export interface OutputPaths {
  readonly streams: readonly [stdout: string, stderr: string]
  readonly combined: string
  readonly positions: string
}

export const outputPaths = (dirs: { logDir: string; positionsDir: string }, key: string): OutputPaths => ({
  streams: [`${dirs.logDir}/${key}.stdout.log`, `${dirs.logDir}/${key}.stderr.log`],
  combined: `${dirs.logDir}/${key}.log`,
  positions: `${dirs.positionsDir}/${key}`,
})
