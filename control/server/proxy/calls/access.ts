/** Who may call a server, and what of the request it does not get because of that. */
import type { IncomingMessage } from 'node:http'
import { fail } from '../../../../shared/errors.ts'
import { bearerOf, credentialOf } from '../../../core/access/credential.ts'
import { needReach, needScopes, type Keys } from '../../../core/access/keys.ts'
import type { Right } from '../../../core/access/standing.ts'
import type { Withheld } from '../gateway/headers.ts'
import type { IdentityWriter } from '../gateway/identity.ts'
import { isBrowser } from '../gateway/browsers.ts'
import type { WorkloadAddress } from '../gateway/address.ts'
import type { Called } from './find.ts'

export interface AccessDeps {
  readonly keys: Keys
  readonly identityOf: IdentityWriter
  /** Lower-case names of headers that may carry our credential, best first. */
  readonly credentialHeaders: readonly string[]
  /** Lower-case names of headers that no server gets from a client: what only we may say. */
  readonly never: readonly string[]
}

export interface Access {
  readonly withheld: Withheld
  /** Headers that say who calls: names and values. */
  readonly identity: readonly string[]
  /** What lets it go on; undefined where anybody may call. */
  readonly right: Right | undefined
}

type Request = Pick<IncomingMessage, 'headers' | 'method'>

/** With a header of our own, `Authorization` belongs to the server and passes. */
const withheldOf = (
  { credentialHeaders, never }: AccessDeps,
  request: Request,
  { isOurs, form }: { readonly isOurs: boolean; readonly form: WorkloadAddress['form'] },
): Withheld => ({
  headers: new Set([...credentialHeaders.filter(name => isOurs || name !== 'authorization'), ...never]),
  cookies: form === 'path' && isBrowser(request),
})

/** A program may send its key to a server that anybody may call: it goes no further, and says who calls. */
const publicAccess = async (deps: AccessDeps, request: Request, { form }: WorkloadAddress): Promise<Access> => {
  const { keys, credentialHeaders, identityOf } = deps
  const sent = credentialOf(request.headers, credentialHeaders)
  const key = sent && (await keys.verify(sent.key).catch(() => undefined))
  const bearer = bearerOf(request.headers.authorization)
  const isOurs = key !== undefined && (sent?.header === 'authorization' || bearer === sent?.key)
  return {
    withheld: withheldOf(deps, request, { isOurs, form }),
    identity: key ? identityOf(key) : [],
    right: undefined,
  }
}

const pathOf = ({ target }: Pick<WorkloadAddress, 'target'>): string => target.split('?', 1)[0] as string

/** A call that was let in. */
export type Letting = Access & { readonly called: Called }

/** Throws `credential_required`, `unauthenticated`, `forbidden`. */
export const accessTo = async (
  deps: AccessDeps,
  address: WorkloadAddress,
  request: Request,
  found: () => Promise<Called>,
): Promise<Letting> => {
  const called = await found().catch((error: unknown) => ({ error }))
  if (!('error' in called) && called.server.isPublic(called.record, pathOf(address)))
    return { ...(await publicAccess(deps, request, address)), called }
  const { keys, credentialHeaders, identityOf } = deps
  const sent = credentialOf(request.headers, credentialHeaders)
  if (!sent) throw fail('credential_required', { headers: credentialHeaders })
  const key = await keys.verify(sent.key)
  // Whether it is there is told only to who holds a valid key.
  if ('error' in called) throw called.error
  needReach(key, called.workspace)
  needScopes(key, [called.server.scope])
  const isOurs = sent.header === 'authorization' || bearerOf(request.headers.authorization) === sent.key
  return {
    called,
    withheld: withheldOf(deps, request, { isOurs, form: address.form }),
    identity: identityOf(key),
    right: keys.right(key, called.workspace),
  }
}
