/** How the management API says that something went wrong: the body, and what clients do about it. */
import type { AppError, ErrorCode } from '../../../shared/errors.ts'
import type { Actor } from '../../core/records/crud.ts'

/** Failure texts of a create that clients know by name. */
const detailedCode = (error: AppError, kind: string): string =>
  error.code === 'already_exists' ? `${kind}_already_exists`.toUpperCase() : error.code.toUpperCase()

const detailed = (error: AppError, kind: string, known: { actor: Actor | undefined; now: number }) => {
  const { name } = (error.details ?? {}) as { name?: string }
  const details =
    error.code === 'invalid_image'
      ? {
          requested_image: (error.details as { requested: string }).requested,
          supported_images: (error.details as { supported: readonly string[] }).supported,
        }
      : error.code === 'invalid_argument'
        ? error.details
        : undefined
  return {
    error: error.code === 'invalid_api_version' ? error.code : detailedCode(error, kind),
    status_code: error.status,
    step: error.status < 500 ? 'validate_and_prepare' : 'create',
    timestamp: new Date(known.now).toISOString(),
    ...(error.code === 'already_exists' && name ? { [`${kind}_name`]: name } : {}),
    ...(known.actor ? { workspace: known.actor.workspace } : {}),
    ...(details ? { details } : {}),
  }
}

/** What `error` says where clients look for a text of their own. */
const said: Partial<Record<ErrorCode, string>> = { no_capacity: 'Maximum parallel executions limit reached' }

/** Of those that know when. */
const retryAfter = (error: AppError): Record<string, string> => {
  const { retryAfterS } = (error.details ?? {}) as { retryAfterS?: number }
  return retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
}

export const errorHeaders = (error: AppError, asked: () => string): Record<string, string> => ({
  // Clients in the field repeat every 409 unless told that it is final.
  ...(error.status === 409 && !error.retry ? { 'x-should-retry': 'false' } : {}),
  ...(error.status === 503 ? { 'retry-after': '1' } : {}),
  ...retryAfter(error),
  ...(error.status === 401 ? { 'www-authenticate': asked() } : {}),
})

/** `kind`: of a create that answers failures in the richer form. */
export const errorBody = (
  error: AppError,
  kind: string | undefined,
  known: { readonly actor: Actor | undefined; readonly now: number },
) => ({
  error: said[error.code] ?? error.code,
  code: error.status,
  message: error.message,
  ...(kind ? detailed(error, kind, known) : {}),
})
