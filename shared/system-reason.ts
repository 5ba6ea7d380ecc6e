/** Failures of the system in words of the API. */
import { errno, messageOf } from './errors.ts'

/** A file system has no room left, or who writes has no more of it: it says it one way, a quota another. */
export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(errno(error) ?? '')

/** What the system says. What has no room is `disk full`. */
export const reasonOf = (error: unknown): string =>
  isFull(error) ? `disk full: ${messageOf(error)}` : messageOf(error)
