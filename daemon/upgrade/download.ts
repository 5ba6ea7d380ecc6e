/** Downloads a release, with retries: release hosts throttle and fail now and then. */
import type { FileHandle } from 'node:fs/promises'
import type { Clock } from '../../shared/clock.ts'
import { fail, isError, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { sizeLimits } from './release.ts'

const attempts = 4
const firstDelayMs = 2_000
const maxDelayMs = 30_000
const totalMs = 5 * 60_000

interface DownloadDeps {
  readonly clock: Clock
  readonly log: Log
  /** A random number between 0 and 1. */
  readonly jitter: () => number
}

/** A failure that a retry may not meet. */
class TransientError extends Error {
  readonly afterMs: number | undefined

  constructor(message: string, afterMs: number | undefined, cause?: unknown) {
    super(message, { cause })
    this.afterMs = afterMs
  }
}

const retryAfterMs = (header: string | null): number | undefined =>
  header !== null && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1000 : undefined

const isTransient = (status: number): boolean => status === 403 || status === 429 || status >= 500

const request = async (url: string, signal: AbortSignal): Promise<Response> => {
  try {
    return await fetch(url, { headers: { accept: 'application/octet-stream', 'user-agent': 'hutchd' }, signal })
  } catch (error) {
    if (signal.aborted) throw error
    const cause = error instanceof Error && error.cause ? `: ${messageOf(error.cause)}` : ''
    throw new TransientError(`${messageOf(error)}${cause}`, undefined, error)
  }
}

const store = async (response: Response, file: FileHandle): Promise<number> => {
  await file.truncate()
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > sizeLimits.max) throw fail('operation_failed', { reason: `larger than ${sizeLimits.max} bytes` })
    await file.write(piece, 0, piece.length, size - piece.length)
  }
  const announced = response.headers.get('content-length')
  if (announced !== null && response.headers.get('content-encoding') === null && Number(announced) !== size)
    throw new TransientError(`got ${size} of ${announced} bytes`, undefined)
  return size
}

const attempt = async (url: string, file: FileHandle, signal: AbortSignal): Promise<number> => {
  const response = await request(url, signal)
  if (!response.ok) {
    await response.body?.cancel()
    const text = `${url} answered ${response.status}`
    if (isTransient(response.status)) throw new TransientError(text, retryAfterMs(response.headers.get('retry-after')))
    throw fail('operation_failed', { reason: text })
  }
  try {
    return await store(response, file)
  } catch (error) {
    if (error instanceof TransientError || isError(error) || signal.aborted) throw error
    throw new TransientError(messageOf(error), undefined, error)
  }
}

/**
 * Writes what `url` answers into `file` and gives its size. Throttling, server errors, broken connections and short
 * answers are tried again, four times in all; 404 is final. Throws `operation_failed`.
 */
export const download = async (
  url: string,
  file: FileHandle,
  deps: DownloadDeps,
  signal: AbortSignal,
): Promise<number> => {
  const { clock, log, jitter } = deps
  const limit = AbortSignal.any([signal, AbortSignal.timeout(totalMs)])
  for (let tried = 1; ; tried++) {
    try {
      return await attempt(url, file, limit)
    } catch (error) {
      if (!(error instanceof TransientError) || tried === attempts) {
        if (isError(error)) throw error
        throw fail('operation_failed', { reason: `download failed: ${messageOf(error)}` }, error)
      }
      const backoff = Math.min(firstDelayMs * 2 ** (tried - 1), maxDelayMs)
      const waitMs = error.afterMs ?? backoff * (0.75 + jitter() / 2)
      log.warn('upgrade.download-again', { url, tried, waitMs, reason: error.message })
      await clock.sleep(Math.min(waitMs, totalMs), limit)
    }
  }
}
