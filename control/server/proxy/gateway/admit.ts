/** Whether a request is let in: who asks, for which workload, with which right. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Exchange } from '../../../../shared/route.ts'
import { needReach, needScopes, type Keys } from '../../../core/access/keys.ts'
import type { Right, Standing } from '../../../core/access/standing.ts'
import type { ApiKey } from '../../../core/store/store.ts'
import type { WorkloadAddress } from './address.ts'
import type { WorkloadCredential } from './credential.ts'
import type { Pass } from './pass.ts'
import type { Resolve, Resolved } from './resolve.ts'

export interface AdmitContext {
  readonly resolve: Resolve
  readonly keys: Keys
  readonly clock: Pick<Clock, 'now'>
  /** The scope that workloads of a kind are used with. */
  readonly scopeOf: (kind: string) => string
}

export interface Admitted {
  readonly resolved: Resolved
  readonly key: ApiKey
  /** What lets it go on. */
  readonly right: Right
}

type Claim = WorkloadCredential['claim']

type Known = Omit<Admitted, 'resolved'>

/** As the key that it stands for, until its own time is over. */
const passRight = (right: Right, { expiresAt }: Pass, clock: Pick<Clock, 'now'>): Right => ({
  id: `${right.id} ${expiresAt}`,
  holds() {
    if (expiresAt <= clock.now()) throw fail('unauthenticated', { reason: 'the login is over' })
    return right.holds()
  },
})

/** The key that is claimed. Throws `unauthenticated`. */
const keyOf = async ({ keys, clock }: AdmitContext, claim: Claim, found: Resolved | undefined): Promise<Known> => {
  const owner = found?.owner.uid
  const workspace = found?.workspace
  if ('key' in claim) {
    const key = await keys.verify(claim.key)
    return { key, right: keys.right(key, workspace) }
  }
  const pass = claim.passes.find(one => one.owner === owner) ?? claim.passes[0]
  const key = await keys.verifyHash(pass.keyHash)
  if (owner !== undefined && pass.owner !== owner)
    throw fail('unauthenticated', { reason: 'this login was for another of the same name; log in again' })
  return { key, right: passRight(keys.right(key, workspace), pass, clock) }
}

/** Whether a workload exists is told only to who holds a valid key: that is looked at before what was found is told. */
export const admit = async (context: AdmitContext, address: WorkloadAddress, claim: Claim): Promise<Admitted> => {
  const { resolve, scopeOf } = context
  const found = await resolve(address).catch((error: unknown) => ({ error }))
  const known = await keyOf(context, claim, 'error' in found ? undefined : found)
  if ('error' in found) throw found.error
  needReach(known.key, found.workspace)
  needScopes(known.key, [scopeOf(address.kind)])
  return { resolved: found, ...known }
}

export interface Entered extends Admitted {
  readonly credential: WorkloadCredential
}

export interface EnterContext extends AdmitContext {
  readonly credentialOf: (
    request: Pick<IncomingMessage, 'headers' | 'method'>,
    address: WorkloadAddress,
  ) => WorkloadCredential
  /** Told of each connection that has brought a valid credential. */
  readonly admitted: (connection: object) => void
  readonly standing: Standing
}

/** The same for a request, whose connection is then known, and which ends when what lets it in does. */
export const enter = async (
  context: EnterContext,
  address: WorkloadAddress,
  request: Pick<IncomingMessage, 'headers' | 'method' | 'socket'>,
  exchange: Exchange,
): Promise<Entered> => {
  const credential = context.credentialOf(request, address)
  const entered = await admit(context, address, credential.claim)
  context.admitted(request.socket)
  context.standing.watch(entered.right, exchange)
  return { ...entered, credential }
}
