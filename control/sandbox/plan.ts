/** From a sandbox's record to the machine it should be. */
import { fail } from '../../shared/errors.ts'
import type { WireNames } from '../wire/names.ts'
import type { Image, Images } from '../images/images.ts'
import type { Workload } from '../reconcile/rules.ts'
import { environmentFor, etcFiles, type WayOut } from './network/outbound.ts'
import { environmentOf, storageMbOf, storedSandbox, type StoredRuntime, type StoredSandbox } from './stored.ts'
import type { Sealer } from '../secrets.ts'
import type { Instance, Resource, Store } from '../store/store.ts'
import type { MachineIdentity } from '../../shared/wire/host.ts'

export interface PlanDeps {
  readonly images: Pick<Images, 'need' | 'byDigest'>
  readonly sealer: Sealer
  readonly names: WireNames
  readonly store: Store
  /** `HUTCH_WIRE_NAMES` for the daemon. */
  readonly wireNames: string
  /** Absent where no machine can be held to an outbound policy. */
  readonly wayOut?: WayOut | undefined
  /** What the others are told of the network that this host is in. */
  readonly surroundings?: WayOut | undefined
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** One core for 2 GB, never less than a quarter of one. */
const cpusFor = (memoryMb: number): number => Math.max(0.25, memoryMb / 2048)

/** The daemon's own variables cannot be given by a caller: they would steer it. */
const withoutOurs = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HUTCH_')))

/** Whom processes run as where the sandbox asks for users (`SANDBOX_USER_ENABLED`). */
const userOf = ({ user }: Image, names: WireNames): Record<string, string> =>
  ['', 'root', '0'].includes(user.split(':')[0] ?? '') ? {} : names.environment({ SANDBOX_USER: user })

/** Bytes; the kernel takes 128 KiB as one variable. */
const longestEntrypoint = 65_536

/** What the daemon starts when the machine does. Throws `image_refused` when the image is to say what, and does not. */
const entrypointOf = ({ entrypoint, image: reference }: StoredRuntime, { command }: Image): Record<string, string> => {
  if (!entrypoint) return {}
  const words = entrypoint === true ? command : entrypoint
  if (words.length === 0)
    throw fail('image_refused', { image: reference, reason: 'it has no entrypoint and no command to start' })
  const text = JSON.stringify(words)
  if (Buffer.byteLength(text) <= longestEntrypoint) return { HUTCH_ENTRYPOINT: text }
  throw fail('image_refused', { image: reference, reason: `its entrypoint is longer than ${longestEntrypoint} bytes` })
}

const identityOf = async ({ store }: PlanDeps, { name, workspace, metadata }: Resource): Promise<MachineIdentity> => ({
  name,
  workspace,
  workspaceId: (await store.tenants.workspace(workspace))?.id ?? workspace,
  labels: metadata.labels ?? {},
})

/** What tells programs where they run. */
const platform = (
  { names }: PlanDeps,
  { name, workspace, workspaceId }: MachineIdentity,
  region: string,
): Record<string, string> =>
  names.environment({
    ENV: 'prod',
    CLOUD: 'true',
    TYPE: 'sandbox',
    NAME: name,
    WORKSPACE: workspace,
    WORKSPACE_ID: workspaceId,
    REGION: region,
  })

/** One that has started keeps what it was made from, whatever its name leads to now and whoever may still pull it. */
const imageOf = async ({ images }: PlanDeps, owner: Resource, { image }: Instance): Promise<Image> =>
  (image && (await images.byDigest(image.digest))) ?? images.need(storedSandbox(owner).runtime.image, owner.workspace)

/** What points to the way out of this machine, if it has one of its own. */
const wayOf = ({ wayOut, surroundings }: PlanDeps, { held }: StoredSandbox): WayOut | undefined =>
  held ? wayOut : surroundings

interface Planned {
  readonly owner: Resource
  readonly image: Image
  readonly workdir: string
  readonly identity: MachineIdentity
}

const variables = (deps: PlanDeps, { owner, image, workdir, identity }: Planned): Record<string, string> => {
  const { names, sealer, wireNames } = deps
  const stored = storedSandbox(owner)
  const { runtime, region } = stored
  const way = wayOf(deps, stored)
  return {
    PATH: systemPath,
    HOME: '/root',
    HOST: '0.0.0.0',
    DO_NOT_TRACK: '1',
    // What a daemon prints is kept on this box; a sandbox that wants its requests logged says "false".
    DISABLE_REQUEST_LOGGING: 'true',
    ...platform(deps, identity, region),
    ...(way ? environmentFor(way, stored) : {}),
    ...userOf(image, names),
    ...withoutOurs({ ...image.env, ...environmentOf(owner, sealer) }),
    ...entrypointOf(runtime, image),
    WORKDIR: workdir,
    HUTCH_WIRE_NAMES: wireNames,
  }
}

export const planner =
  (deps: PlanDeps): Workload['plan'] =>
  async (owner, instance) => {
    const stored = storedSandbox(owner)
    const { runtime, held = false } = stored
    const way = wayOf(deps, stored)
    const image = await imageOf(deps, owner, instance)
    const { digest, rootfs } = instance.image ?? image
    const workdir = image.workdir || '/'
    const identity = await identityOf(deps, owner)
    return {
      // A machine that runs has what it was made with; an entrypoint starts with its daemon.
      onlyNew: Object.values(runtime.extraArgs ?? {}).includes('enabled') || Boolean(runtime.entrypoint),
      image: { digest, rootfs },
      spec: {
        id: instance.id,
        rootfs,
        memoryMb: runtime.memory,
        cpus: cpusFor(runtime.memory),
        storageMb: storageMbOf(runtime),
        hostname: owner.name,
        workdir,
        identity,
        held,
        ...(way ? { etc: etcFiles(way) } : {}),
        env: variables(deps, { owner, image, workdir, identity }),
      },
    }
  }
