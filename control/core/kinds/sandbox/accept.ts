/**
 * From what was sent to what is stored. On an update a member that is absent keeps its value, except `network`,
 * which is cleared whenever a spec comes without one; `null` and `''` clear ttl, expires and lifecycle.
 */
import { durationMs } from '../../../../shared/durations.ts'
import { fail } from '../../../../shared/errors.ts'
import type { Reference } from '../../store/store.ts'
import type { Images } from '../../images/images.ts'
import type { Around } from '../../records/kind.ts'
import { sealEnvs, type StoredEnv } from '../../records/sealing.ts'
import type { Sealer } from '../../secrets/secrets.ts'
import { acceptAttachments, type AttachDeps } from '../../storage/volumes/attachments.ts'
import { dense } from './dense.ts'
import { acceptNetwork, type NetworkDeps } from './network/accept.ts'
import { memoryMb, type LifecycleInput, type RuntimeInput, type SandboxSpecInput } from './spec.ts'
import type { StoredRuntime, StoredSandbox } from './stored.ts'

/** The networks of workspaces, and their ways out. */
export interface Networks {
  /** What a sandbox names that is in that network and leaves by that gateway. */
  references(vpc: string | undefined, gateway: string | undefined): Reference[]
  /** Throws `invalid_argument` when a new sandbox of that region cannot leave by the gateway. */
  needGateway(wanted: { workspace: string; name: string; region: string }): Promise<void>
}

export interface AcceptDeps extends NetworkDeps, AttachDeps {
  readonly images: Pick<Images, 'check'>
  readonly networks: Networks
  /** Codes this host answers to; the first is the default and what `auto` means. */
  readonly regions: readonly string[]
  /** Days that a sandbox lives at most, from its creation; for ever unless given. */
  readonly longestDays?: number | undefined
  /** Image of a sandbox that names none. */
  defaultImage(): Promise<string>
}

const refuse = (field: string, reason: string) => fail('invalid_argument', { field: `spec.${field}`, reason })

const plainEnvs = (envs: readonly StoredEnv[] | undefined, sealer: Sealer): string =>
  JSON.stringify((envs ?? []).map(env => [env.name, 'sealed' in env ? sealer.open(env.sealed) : env.value]))

/** `undefined` keeps, `null` and `''` clear. */
const cleared = <T>(given: T | null | undefined, previous: T | undefined): T | undefined =>
  given === undefined ? previous : given === null || given === '' ? undefined : given

/** What was asked for, or what the account may have when that is less. */
const boundedTtl = (ttl: string | undefined, longestDays: number | undefined): string | undefined => {
  if (longestDays === undefined) return ttl
  const longest = `${longestDays}d`
  return ttl !== undefined && durationMs(ttl, 'spec.runtime.ttl') <= durationMs(longest, '') ? ttl : longest
}

const acceptRuntime = async (
  input: RuntimeInput | null | undefined,
  previous: StoredRuntime | undefined,
  { workspace, ...deps }: AcceptDeps & Pick<Around, 'workspace'>,
): Promise<StoredRuntime> => {
  const image = input?.image || previous?.image || (await deps.defaultImage())
  if (image !== previous?.image) await deps.images.check(image, workspace)
  const envs = input?.envs
    ? sealEnvs(input.envs, previous?.envs ?? [], 'spec.runtime.envs', deps.sealer)
    : previous?.envs
  const same = plainEnvs(envs, deps.sealer) === plainEnvs(previous?.envs, deps.sealer)
  return {
    image,
    memory: input?.memory ?? previous?.memory ?? memoryMb.fallback,
    ...dense({
      storageMb: input?.storageMb || previous?.storageMb,
      // Sealed again, a secret looks different each time: what did not change stays as it is.
      envs: same && previous ? previous.envs : envs,
      entrypoint: input?.entrypoint === undefined ? previous?.entrypoint : input.entrypoint || undefined,
      ports: input?.ports ? input.ports.map(dense) : previous?.ports,
      expires: cleared(input?.expires, previous?.expires),
      ttl: boundedTtl(cleared(input?.ttl, previous?.ttl), deps.longestDays),
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
    standby: dense(input.standby ?? {}),
  })

const acceptRegion = (given: string | null | undefined, previous: string | undefined, regions: readonly string[]) => {
  if (!given || given === 'auto' || given === previous) return previous ?? (regions[0] as string)
  if (previous) throw refuse('region', `cannot be changed from "${previous}"`)
  if (!regions.includes(given)) throw refuse('region', `"${given}" is none of ${[...regions, 'auto'].join(', ')}`)
  return given
}

const acceptVpc = (given: string | null | undefined, previous: StoredSandbox | undefined): string | undefined => {
  const kept = previous?.vpc
  if (!given || !previous || given === (kept ?? 'default')) return given ? (previous ? kept : given) : kept
  const reason = `cannot be changed from "${kept ?? 'default'}": a sandbox is made in its network`
  throw fail('invalid_argument', { field: 'spec.vpc', reason })
}

/** Sandboxes have one kernel, without any of these: what switches one on would do nothing. */
const checkExtraArgs = (given: RuntimeInput['extraArgs']): void => {
  const [on] = Object.entries(given ?? {}).find(([, value]) => value === 'enabled') ?? []
  if (on) throw refuse(`runtime.extraArgs.${on}`, 'is not available in sandboxes of this host; leave it out')
}

/** The spec to store; throws `invalid_argument`, `invalid_image`, `image_refused`, or what volumes lack, before anything is changed. */
export const acceptSandbox = async (
  input: SandboxSpecInput | undefined,
  previous: StoredSandbox | undefined,
  deps: AcceptDeps & Pick<Around, 'workspace'>,
): Promise<StoredSandbox> => {
  if (!input && previous) return previous
  if (!previous) checkExtraArgs(input?.runtime?.extraArgs)
  const lifecycle = input?.lifecycle === undefined ? previous?.lifecycle : acceptLifecycle(input.lifecycle ?? {})
  const region = acceptRegion(input?.region, previous?.region, deps.regions)
  const vpc = acceptVpc(input?.vpc, previous)
  const network = acceptNetwork(input?.network, previous, { ...deps, vpc })
  const gateway = network.network?.egress?.gateway
  const volumes = await acceptAttachments(input?.volumes, previous, { workspace: deps.workspace, region }, deps)
  // One that was made with it keeps it.
  if (gateway && !previous) await deps.networks.needGateway({ workspace: deps.workspace, name: gateway, region })
  return {
    enabled: input?.enabled ?? previous?.enabled ?? true,
    region,
    ...dense({ vpc, policies: input?.policies ?? previous?.policies, lifecycle, volumes, from: previous?.from }),
    ...network,
    runtime: await acceptRuntime(input?.runtime, previous?.runtime, deps),
  }
}
