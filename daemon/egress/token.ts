import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs'
import { messageOf } from '../../shared/errors.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'

/** A rotated token is used after this time at the latest. Milliseconds. */
const freshMs = 1_000
const maxBytes = 64 * 1024

/** Reads the token. A tenant may have chosen the name, so nothing in `/proc` or `/sys` is read. */
const readToken = (path: string): string => {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(fd).isFile() || /^\/(proc|sys)\//.test(readlinkSync(`/proc/self/fd/${fd}`)))
      throw new Error('is no regular file')
    const bytes = Buffer.alloc(maxBytes)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, maxBytes, 0)).trim()
  } finally {
    closeSync(fd)
  }
}

export interface Token {
  /**
   * The current token, or the previous one when the file cannot be read or is empty. Throws when there never was one.
   */
  get(): string
  /** Like `get`, but always reads the file. */
  again(): string
}

export const createTokenReader = (path: string, deps: { clock: Clock; log: Log }): Token => {
  const { clock, log } = deps
  let known = ''
  let readAt = Number.NEGATIVE_INFINITY
  const again = (): string => {
    readAt = clock.elapsed()
    try {
      const token = readToken(path)
      if (/[\r\n\0]/.test(token)) throw new Error('holds more than a token')
      if (token !== '') known = token
    } catch (error) {
      log.warn('egress.token-unreadable', { path, reason: messageOf(error) })
    }
    if (known === '') throw new Error(`there is no token in ${path}`)
    return known
  }
  return { again, get: () => (known !== '' && clock.elapsed() - readAt < freshMs ? known : again()) }
}
