/** What the operating system refuses becomes an error of the API here, keeping the system's own text. */
import { errno, fail, isError, messageOf } from '../../shared/errors.ts'

/** 422 for a system error (`ENOSPC: no space left on device, write`); anything else is passed on as it is. */
export const asUnprocessable = (error: unknown): unknown =>
  !isError(error) && errno(error) ? fail('unprocessable', { reason: messageOf(error) }, error) : error

/** As `asUnprocessable`, for the few places the contract answers 500; a name that no file can have is the caller's mistake. */
export const asOperationFailed = (error: unknown): unknown => {
  if (isError(error) || !errno(error)) return error
  if (errno(error) === 'ENAMETOOLONG')
    return fail('invalid_argument', { field: 'path', reason: 'is longer than a path may be' }, error)
  return fail('operation_failed', { reason: messageOf(error) }, error)
}

/** 404 naming the path when it is missing, else `otherwise`. */
export const asNotFound = (path: string, error: unknown, otherwise: (error: unknown) => unknown): unknown =>
  errno(error) === 'ENOENT' ? fail('path_not_found', { path, reason: messageOf(error) }, error) : otherwise(error)
