/** What the library throws, in errors of ours. */
import { fail, isError, messageOf } from '../../../../../shared/errors.ts'
import type { Library } from './discovery.ts'

/** Whoever answered badly is not let in, whoever did not answer failed. */
export const translated = (
  error: unknown,
  { AuthorizationResponseError }: Pick<Library, 'AuthorizationResponseError'>,
) => {
  if (isError(error)) return error
  const cause = (error as { cause?: unknown }).cause
  if (isError(cause)) return cause
  if (error instanceof AuthorizationResponseError)
    return fail('unauthenticated', { reason: `the provider says ${error.error.slice(0, 100)}` }, error)
  const code = String((error as { code?: unknown }).code)
  if (code.startsWith('OAUTH_'))
    return fail(
      'unauthenticated',
      { reason: `the answer of the provider is not valid: ${messageOf(cause ?? error)}` },
      error,
    )
  return fail('sign_in_failed', { reason: messageOf(error) }, error)
}
