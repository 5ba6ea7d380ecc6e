/**
 * From what was sent to what is stored. On an update a member that is absent keeps its value, except `network`,
 * which is cleared whenever a spec comes without one; `null` and `''` clear ttl, expires and lifecycle.
 */
import { fail } from '../../shared/errors.ts'
import type { Images } from '../images/images.ts'
import { mask, sealEnvs, type StoredEnv } from '../resources/sealing.ts'
import type { Sealer } from '../secrets.ts'
import { memoryMb, type LifecycleInput, type NetworkInput, type RuntimeInput } from './spec.ts'
import type { SandboxSpecInput } from './spec.ts'
import type { StoredNetwork, StoredRoute, StoredRuntime, StoredSandbox } from './stored.ts'

export interface AcceptDeps {
  readonly images: Pick<Images, 'resolve'>
  readonly sealer: Sealer
  /** Codes this host answers to; the first is the default and what `auto` means. */
  readonly regions: readonly string[]
  /** Image of a sandbox that names none. */
  defaultImage(): Promise<string>
  /** Whether this host enforces rules for outbound traffic. One that does not refuses them: nobody is to rely on a rule that does nothing. */
  readonly egressRules: boolean
}

const refuse = (field: string, reason: string) => fail('invalid_argument', { field: `spec.${field}`, reason })

/** The object without members that are undefined, null, '' , [] or {}. */
const dense = (value: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).filter(
      ([, member]) =>
        member !== undefined &&
        member !== null &&
        member !== '' &&
        !(typeof member === 'object' && Object.keys(member).length === 0),
    ),
  )

const plainEnvs = (envs: readonly StoredEnv[] | undefined, sealer: Sealer): string =>
  JSON.stringify((envs ?? []).map(env => [env.name, 'sealed' in env ? sealer.open(env.sealed) : env.value]))

/** `undefined` keeps, `null` and `''` clear. */
const cleared = <T>(given: T | null | undefined, previous: T | undefined): T | undefined =>
  given === undefined ? previous : given === null || given === '' ? undefined : given

const acceptRuntime = async (
  input: RuntimeInput | null | undefined,
  previous: StoredRuntime | undefined,
  deps: AcceptDeps,
): Promise<StoredRuntime> => {
  const image = input?.image || previous?.image || (await deps.defaultImage())
  if (image !== previous?.image) await deps.images.resolve(image)
  const envs = input?.envs
    ? sealEnvs(input.envs, previous?.envs ?? [], 'spec.runtime.envs', deps.sealer)
    : previous?.envs
  const same = plainEnvs(envs, deps.sealer) === plainEnvs(previous?.envs, deps.sealer)
  return {
    image,
    memory: input?.memory ?? previous?.memory ?? memoryMb.fallback,
    ...dense({
      // Sealed again, a secret looks different each time: what did not change stays as it is.
      envs: same && previous ? previous.envs : envs,
      ports: input?.ports ? input.ports.map(dense) : previous?.ports,
      expires: cleared(input?.expires, previous?.expires),
      ttl: cleared(input?.ttl, previous?.ttl),
      // The kernel variant is chosen once.
      extraArgs: previous ? previous.extraArgs : input?.extraArgs,
      terminationGracePeriodSeconds: input?.terminationGracePeriodSeconds ?? previous?.terminationGracePeriodSeconds,
    }),
  }
}

const acceptLifecycle = (input: LifecycleInput): StoredSandbox['lifecycle'] =>
  dense({
    expirationPolicies: input.expirationPolicies?.map(policy => ({ action: 'delete', ...dense(policy) })),
    terminatedRetention: input.terminatedRetention,
  })

type RouteInput = NonNullable<NonNullable<NonNullable<NetworkInput['proxy']>['routing']>[number]>

/** Answers leave secrets out, and clients send answers back: a rule without secrets keeps those of the same destinations. */
const acceptRoute = (route: RouteInput, previous: readonly StoredRoute[], sealer: Sealer): Record<string, unknown> => {
  const destinations = JSON.stringify(route.destinations ?? [])
  const kept = previous.find(old => JSON.stringify(old.destinations ?? []) === destinations)?.secrets ?? {}
  const seal = ([name, value]: [string, string]) =>
    value === mask && kept[name] ? [name, kept[name]] : [name, sealer.seal(value)]
  const secrets = route.secrets ? Object.fromEntries(Object.entries(route.secrets).map(seal)) : kept
  return dense({ ...route, secrets })
}

/** The first member of `network` that restricts or changes outbound traffic. */
const egressRuleIn = ({
  allowedDomains,
  forbiddenDomains,
  proxy,
  firewall,
  egress,
}: NetworkInput): string | undefined => {
  const rules: Record<string, boolean> = {
    allowedDomains: (allowedDomains ?? []).length > 0,
    forbiddenDomains: (forbiddenDomains ?? []).length > 0,
    'proxy.allowedDomains': (proxy?.allowedDomains ?? []).length > 0,
    'proxy.forbiddenDomains': (proxy?.forbiddenDomains ?? []).length > 0,
    'proxy.routing': (proxy?.routing ?? []).length > 0,
    'firewall.rulesets': (firewall?.rulesets ?? []).some(name => name !== 'default'),
    'egress.mode': egress?.mode === 'dedicated',
  }
  return Object.keys(rules).find(name => rules[name])
}

const acceptNetwork = (input: NetworkInput, previous: StoredNetwork | undefined, deps: AcceptDeps): StoredNetwork => {
  const { sealer, egressRules } = deps
  const rule = egressRules ? undefined : egressRuleIn(input)
  if (rule)
    throw refuse(
      `network.${rule}`,
      'rules for outbound traffic are not enforced by this version of Hutch; leave them out',
    )
  if (input.subnet && input.subnet !== 'default') throw refuse('network.subnet', `subnet "${input.subnet}" not found`)
  if (input.egress?.gateway)
    throw refuse('network.egress.gateway', `egress gateway "${input.egress.gateway}" not found`)
  const { proxy, egress, firewall } = input
  return dense({
    ...input,
    firewall: firewall ? dense(firewall) : undefined,
    egress: egress ? dense({ ...egress, policies: egress.policies?.map(dense) }) : undefined,
    proxy: proxy
      ? dense({
          ...proxy,
          routing: proxy.routing?.map(route => acceptRoute(route, previous?.proxy?.routing ?? [], sealer)),
        })
      : undefined,
  })
}

const acceptRegion = (given: string | null | undefined, previous: string | undefined, regions: readonly string[]) => {
  if (!given || given === 'auto' || given === previous) return previous ?? (regions[0] as string)
  if (previous) throw refuse('region', `cannot be changed from "${previous}"`)
  if (!regions.includes(given)) throw refuse('region', `"${given}" is none of ${[...regions, 'auto'].join(', ')}`)
  return given
}

const checkVolumes = (volumes: SandboxSpecInput['volumes']): void => {
  for (const [at, { name, type }] of (volumes ?? []).entries()) {
    if (type === 'ephemeral') throw refuse(`volumes.${at}.type`, 'ephemeral volumes are not available on this host')
    throw refuse(`volumes.${at}.name`, `volume "${name}" not found`)
  }
}

/** The spec to store; throws `invalid_argument` or `invalid_image` before anything is changed. */
export const acceptSandbox = async (
  input: SandboxSpecInput | undefined,
  previous: StoredSandbox | undefined,
  deps: AcceptDeps,
): Promise<StoredSandbox> => {
  if (!input && previous) return previous
  checkVolumes(input?.volumes)
  if (input?.vpc && input.vpc !== 'default')
    throw fail('invalid_argument', { field: 'spec.vpc', reason: 'this host has one network only; leave it out' })
  const lifecycle = input?.lifecycle === undefined ? previous?.lifecycle : acceptLifecycle(input.lifecycle ?? {})
  return {
    enabled: input?.enabled ?? previous?.enabled ?? true,
    region: acceptRegion(input?.region, previous?.region, deps.regions),
    ...dense({
      vpc: input?.vpc ?? previous?.vpc,
      lifecycle,
      network: input?.network ? acceptNetwork(input.network, previous?.network, deps) : undefined,
    }),
    runtime: await acceptRuntime(input?.runtime, previous?.runtime, deps),
  }
}
