/** Whether a request is let in: who asks, for which workload, with which right. */
import type { IncomingMessage } from 'node:http'
import { fail } from '../../shared/errors.ts'
import { needReach, needScopes, type Keys } from '../auth/keys.ts'
import type { ApiKey } from '../store/store.ts'
import type { WorkloadAddress } from './address.ts'
import type { WorkloadCredential } from './credential.ts'
import type { Resolve, Resolved } from './resolve.ts'

export interface AdmitContext {
  readonly resolve: Resolve
  readonly keys: Keys
  /** The scope that workloads of a kind are used with. */
  readonly scopeOf: (kind: string) => string
}

export interface Admitted {
  readonly resolved: Resolved
  readonly key: ApiKey
}

type Claim = WorkloadCredential['claim']

/** The key that is claimed. Throws `unauthenticated`. */
const keyOf = async (keys: Keys, claim: Claim, owner: string | undefined): Promise<ApiKey> => {
  if ('key' in claim) return keys.verify(claim.key)
  const pass = claim.passes.find(one => one.owner === owner) ?? claim.passes[0]
  const key = await keys.verifyHash(pass.keyHash)
  if (owner !== undefined && pass.owner !== owner)
    throw fail('unauthenticated', { reason: 'this login was for another of the same name; log in again' })
  return key
}

/** Whether a workload exists is told only to who holds a valid key: that is looked at before what was found is told. */
export const admit = async (context: AdmitContext, address: WorkloadAddress, claim: Claim): Promise<Admitted> => {
  const { resolve, keys, scopeOf } = context
  const found = await resolve(address).catch((error: unknown) => ({ error }))
  const key = await keyOf(keys, claim, 'error' in found ? undefined : found.owner.uid)
  if ('error' in found) throw found.error
  needReach(key, found.workspace)
  needScopes(key, [scopeOf(address.kind)])
  return { resolved: found, key }
}

export interface Entered extends Admitted {
  readonly credential: WorkloadCredential
}

export interface EnterContext extends AdmitContext {
  readonly credentialOf: (request: IncomingMessage, address: WorkloadAddress) => WorkloadCredential
  /** Told of each connection that has brought a valid credential. */
  readonly admitted: (connection: object) => void
}

/** The same for a request, whose connection is then known. */
export const enter = async (
  context: EnterContext,
  address: WorkloadAddress,
  request: IncomingMessage,
): Promise<Entered> => {
  const credential = context.credentialOf(request, address)
  const entered = await admit(context, address, credential.claim)
  context.admitted(request.socket)
  return { ...entered, credential }
}
