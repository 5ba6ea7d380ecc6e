/** Turns errors of the operating system into the API's, keeping the system's own text. */
import { errno, fail, isError, messageOf } from '../../shared/errors.ts'
import { reasonOf } from '../../shared/system-reason.ts'

/** 422 for a system error (`disk full: ENOSPC: no space left on device, write`); any other error is returned as it is. */
export const asUnprocessable = (error: unknown): unknown =>
  !isError(error) && errno(error) ? fail('unprocessable', { reason: reasonOf(error) }, error) : error

/** 500 for a system error, where the contract wants that, but 400 for a name that no file can have. */
export const asOperationFailed = (error: unknown): unknown => {
  if (isError(error) || !errno(error)) return error
  if (errno(error) === 'ENAMETOOLONG')
    return fail('invalid_argument', { field: 'path', reason: 'is longer than a path may be' }, error)
  return fail('operation_failed', { reason: reasonOf(error) }, error)
}

/** As `asOperationFailed` where a path is looked up, but 422 for links that lead in a circle: the caller can delete one. */
export const asNotLookedUp = (error: unknown): unknown =>
  errno(error) === 'ELOOP' ? asUnprocessable(error) : asOperationFailed(error)

/** 404 naming the path when it is missing, else `otherwise`. */
export const asNotFound = (path: string, error: unknown, otherwise: (error: unknown) => unknown): unknown =>
  errno(error) === 'ENOENT' ? fail('path_not_found', { path, reason: messageOf(error) }, error) : otherwise(error)
