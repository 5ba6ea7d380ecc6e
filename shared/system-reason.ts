/** Failures of the system in words of the API. */
import { errno, messageOf } from './errors.ts'

/** What the system says. A file system that is full says it one way, a quota another; both are `disk full`. */
export const reasonOf = (error: unknown): string =>
  ['ENOSPC', 'EDQUOT'].includes(errno(error) ?? '') ? `disk full: ${messageOf(error)}` : messageOf(error)
