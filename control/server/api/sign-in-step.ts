/** What each step of signing in or joining begins with. */
import { readBody } from '../../../shared/http/body.ts'
import { fail, isError } from '../../../shared/errors.ts'
import type { InProcessAnswer } from '../../../shared/http/in-process.ts'
import type { Context, Request } from '../../../shared/route.ts'
import type { Denials } from '../access/audit/denials.ts'
import type { Identity } from '../access/identity/identity.ts'
import { stepIsOver } from '../access/identity/pages.ts'
import type { AuditedBy } from '../../core/store/store.ts'
import { oauthBodyLimit } from './oauth-declarations.ts'

export interface SignInDeps {
  readonly identity: Identity
  readonly denials: Pick<Denials, 'note'>
}

/** Forms come from pages of this host. */
export const formOf = async (request: Request): Promise<string> => {
  const from = request.headers['sec-fetch-site']
  if (from !== undefined && from !== 'same-origin')
    throw fail('forbidden', { reason: 'a form of another site is not taken' })
  return (await readBody(request.body, oauthBodyLimit)).toString('utf8')
}

export const byOf = ({ request, requestId }: Context): AuditedBy => ({
  actor: '',
  credential: '',
  remote: request.remote,
  requestId,
})

/** The provider knows the step by a cookie that only who began it has. */
export const stepped = async (answer: () => Promise<InProcessAnswer>): Promise<InProcessAnswer> => {
  try {
    return await answer()
  } catch (error) {
    if (isError(error) || (error as Error).name !== 'SessionNotFound') throw error
    throw fail('invalid_argument', { field: '', reason: stepIsOver })
  }
}
