/**
 * A tunnel that a variable of a sandbox describes, beside its outbound policy. The policy would let nothing of it out, and the sandbox would be
 * closed for good: so its owner is told when he asks for it.
 */
import { fail } from '../../../../../shared/errors.ts'
import { compilePolicy } from '../../../../../shared/policy/decide.ts'
import { peerInDocument } from '../../../../../shared/tunnel-peer.ts'
import type { Sealer } from '../../../secrets/secrets.ts'
import type { WireNames } from '../../../../base/wire/names.ts'
import type { StoredSandbox } from '../stored.ts'
import { policyOf } from './policy.ts'

interface Deps {
  readonly sealer: Sealer
  readonly names: Pick<WireNames, 'environment'>
}

/** The peer that its policy does not let it reach, as `host:port`, and the variable that names it. */
const unreached = (
  { held, network, runtime }: StoredSandbox,
  { sealer, names }: Deps,
): { readonly peer: string; readonly variable: string } | undefined => {
  if (!held) return undefined
  const spellings = Object.keys(names.environment({ NETWORKING_CONFIG: '' }))
  const env = (runtime.envs ?? []).findLast(({ name }) => spellings.includes(name))
  const peer = env && peerInDocument('sealed' in env ? sealer.open(env.sealed) : env.value)
  if (!peer) return undefined
  const policy = compilePolicy(policyOf(network, sealer))
  const { host, port } = peer
  if (policy.source.mode !== 'enforce' || policy.forDatagrams(host, port).allowed) return undefined
  return { peer: `${host}:${port}`, variable: env.name }
}

/** Throws `invalid_argument` where it asks for a tunnel that its policy closes, unless it was so before. */
export const checkTunnel = (next: StoredSandbox, previous: StoredSandbox | undefined, deps: Deps): void => {
  const found = unreached(next, deps)
  if (!found || (previous && unreached(previous, deps)?.peer === found.peer)) return
  const reason = `${found.variable} has a tunnel to ${found.peer}, which "${found.peer}" in spec.network.allowedDomains would allow`
  throw fail('invalid_argument', { field: 'spec.runtime.envs', reason })
}
