/**
 * From the network that was sent to the one that is stored. Whether a sandbox's traffic is held to a policy at all is decided when it is
 * made, because its link is made for it; what the policy says may change at any time.
 */
import { isDeepStrictEqual } from 'node:util'
import { fail, isError } from '../../../../../shared/errors.ts'
import { compilePolicy } from '../../../../../shared/policy/decide.ts'
import type { Sealer } from '../../../secrets/secrets.ts'
import { dense } from '../dense.ts'
import { mask } from '../../../records/sealing.ts'
import { keptSecrets } from './kept-secrets.ts'
import { policyOf, ruleIn } from './policy.ts'
import { unwrap } from './sent.ts'
import type { NetworkInput } from './shape.ts'
import type { SealedTexts, StoredNetwork, StoredProxy, StoredRoute } from './stored.ts'

export interface NetworkDeps {
  readonly sealer: Sealer
  /** Whether this host enforces rules for outbound traffic. One that does not refuses them: nobody is to rely on a rule that does nothing. */
  readonly egressRules: boolean
}

/** Which network the sandbox is in. */
interface In {
  readonly vpc: string | undefined
}

export interface AcceptedNetwork {
  readonly network?: StoredNetwork
  /** Paths in `network` of what came as text and is answered as text. */
  readonly networkTexts?: readonly string[]
  /** Its outbound traffic goes through the proxy. */
  readonly held?: true
}

const refuse = (field: string, reason: string) => fail('invalid_argument', { field: `spec.network.${field}`, reason })

const sealTexts = (given: SealedTexts, kept: SealedTexts, sealer: Sealer): Record<string, string> =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      value === mask && kept[name] ? kept[name] : sealer.seal(value),
    ]),
  )

const acceptRoute = (route: StoredRoute, kept: SealedTexts, sealer: Sealer): Record<string, unknown> =>
  dense({ ...route, secrets: route.secrets ? sealTexts(route.secrets, kept, sealer) : kept })

const acceptProxy = (
  proxy: StoredProxy,
  previous: StoredProxy | undefined,
  sealer: Sealer,
): Record<string, unknown> => {
  const kept = keptSecrets(proxy.routing ?? [], previous?.routing ?? [])
  return dense({
    ...proxy,
    routing: proxy.routing?.map((route, at) => acceptRoute(route, kept[at] ?? {}, sealer)),
    canaries: proxy.canaries ? sealTexts(proxy.canaries, previous?.canaries ?? {}, sealer) : undefined,
  })
}

/** Names the first rule, or else the proxy, that this host, or this sandbox, cannot have. */
const checkRules = (
  network: StoredNetwork,
  held: boolean,
  previous: AcceptedNetwork | undefined,
  egressRules: boolean,
): void => {
  // An empty one that was stored by an earlier build comes back with what clients have read.
  const isNew = network.proxy !== undefined && !isDeepStrictEqual(network.proxy, previous?.network?.proxy)
  const rule = ruleIn(network) ?? (isNew ? 'proxy' : undefined)
  if (rule && !egressRules)
    throw refuse(
      rule,
      'rules for outbound traffic cannot be enforced on this box (make doctor says why); leave them out',
    )
  if (rule && !held && previous)
    throw refuse(rule, 'the proxy is switched on when a sandbox is created, not later; create one with network.proxy')
}

const checkMembers = ({ subnet, egress, firewall, proxy }: StoredNetwork): void => {
  for (const [at, { destinations }] of (proxy?.routing ?? []).entries())
    if (!destinations?.length) throw refuse(`proxy.routing.${at}.destinations`, 'must name at least one; "*" is all')
  if (subnet && subnet !== 'default') throw refuse('subnet', `subnet "${subnet}" not found`)
  if (egress?.gateway) {
    if (egress.mode && egress.mode !== 'dedicated') throw refuse('egress.mode', 'must be dedicated')
    return
  }
  if (egress?.mode === 'dedicated') throw refuse('egress.gateway', 'is missing')
  if (firewall?.rulesets?.includes('dedicated-ip'))
    throw refuse('firewall.rulesets', 'dedicated-ip needs egress.gateway')
}

/**
 * The gateway is bound when a sandbox is made, and stays: it has left from there, and whoever is outside has come to rely on it. An update
 * that says nothing of it keeps it.
 */
const acceptEgress = (
  given: StoredNetwork['egress'],
  previous: AcceptedNetwork | undefined,
  { egressRules, vpc }: NetworkDeps & In,
): StoredNetwork['egress'] => {
  const bound = previous?.network?.egress
  if (previous && given?.gateway && given.gateway !== bound?.gateway)
    throw refuse('egress.gateway', 'is bound when a sandbox is created, not later')
  const egress = bound?.gateway ? { ...given, gateway: bound.gateway } : given
  if (!egress?.gateway || previous) return egress
  if (!egressRules) throw refuse('egress.gateway', 'no egress gateway runs on this box (make doctor says why)')
  if (vpc && vpc !== 'default') throw refuse('egress.gateway', `is for VPC "default"; the sandbox is in "${vpc}"`)
  return egress
}

/** Whether its traffic is held to a policy, be it one that lets all pass: for rules, for an address of its own, for other sandboxes. */
const isHeld = (
  network: StoredNetwork,
  previous: AcceptedNetwork | undefined,
  { egressRules, vpc }: NetworkDeps & In,
) => {
  if (previous) return previous.held ?? false
  const isInVpc = vpc !== undefined && vpc !== 'default'
  if (isInVpc && !egressRules)
    throw fail('invalid_argument', {
      field: 'spec.vpc',
      reason: 'this box has one network only (make doctor says why)',
    })
  return egressRules && (isInVpc || Boolean(network.proxy ?? network.egress?.gateway) || ruleIn(network) !== undefined)
}

/** The engine takes it; what it refuses is told by where it was said. */
const checkPolicy = (network: StoredNetwork, sealer: Sealer): void => {
  // What is the host's own of a policy is right; most sandboxes say nothing of theirs.
  if (Object.keys(network).length === 0) return
  try {
    compilePolicy(policyOf(network, sealer))
  } catch (error) {
    if (!isError(error, 'invalid_argument')) throw error
    const { field, reason } = error.details as { field: string; reason: string }
    throw refuse(`proxy.${field}`, reason)
  }
}

/** `previous` is what the sandbox has had so far, on an update. Throws `invalid_argument` naming the field. */
export const acceptNetwork = (
  input: NetworkInput | null | undefined,
  previous: AcceptedNetwork | undefined,
  deps: NetworkDeps & In,
): AcceptedNetwork => {
  const { sealer, egressRules } = deps
  const { value, texts } = unwrap(input ?? {})
  // What was sent, secrets not yet sealed.
  const sent = value as StoredNetwork
  const egressNow = acceptEgress(sent.egress, previous, deps)
  const plain: StoredNetwork = { ...sent, ...(egressNow ? { egress: egressNow } : {}) }
  const held = isHeld(plain, previous, deps)
  checkMembers(plain)
  const { proxy, egress, firewall } = plain
  const network = {
    ...dense({
      ...plain,
      firewall: firewall ? dense(firewall) : undefined,
      egress: egress ? dense({ ...egress, policies: egress.policies?.map(dense) }) : undefined,
      proxy: undefined,
    }),
    // An empty one says something: it switches the proxy on.
    ...(proxy ? { proxy: acceptProxy(proxy, previous?.network?.proxy, sealer) } : {}),
  }
  checkPolicy(network, sealer)
  checkRules(network, held, previous, egressRules)
  return {
    ...(Object.keys(network).length > 0 ? { network } : {}),
    ...(texts.length > 0 ? { networkTexts: texts } : {}),
    ...(held ? { held: true as const } : {}),
  }
}
