/** From a sandbox's record to the machine it should be. */
import type { WireNames } from '../../../base/wire/names.ts'
import type { Image, Images } from '../../images/images.ts'
import type { Workload } from '../../transitions/rules.ts'
import { variables } from './environment.ts'
import { identityFiles, originOf } from './fork.ts'
import { etcFiles, type WayOut } from './network/outbound.ts'
import { storageMbOf, storedSandbox, type StoredSandbox } from './stored.ts'
import type { Sealer } from '../../secrets/secrets.ts'
import type { Instance, Resource, Store } from '../../store/store.ts'
import { machineVolumes } from '../../storage/volumes/attachments.ts'
import type { MachineIdentity } from '../../../../shared/wire/host.ts'

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

/** One core for 2 GB, never less than a quarter of one. */
export const cpusFor = (memoryMb: number): number => Math.max(0.25, memoryMb / 2048)

export const identityOf = async (
  { store }: Pick<PlanDeps, 'store'>,
  { name, workspace, metadata }: Resource,
): Promise<MachineIdentity> => ({
  name,
  workspace,
  workspaceId: (await store.tenants.workspace(workspace))?.id ?? workspace,
  labels: metadata.labels ?? {},
})

/**
 * One that has started keeps what it was made from, whatever its name leads to now and whoever may still pull it. One that begins with files
 * of a snapshot has the image that they are laid over.
 */
const imageOf = async ({ images }: PlanDeps, owner: Resource, instance: Instance): Promise<Image> => {
  const image = instance.image ?? originOf(owner, instance)?.image
  return (
    (image && (await images.byDigest(image.digest))) ?? images.need(storedSandbox(owner).runtime.image, owner.workspace)
  )
}

/** What points to the way out of this machine, if it has one of its own. */
const wayOf = ({ wayOut, surroundings }: PlanDeps, { held }: StoredSandbox): WayOut | undefined =>
  held ? wayOut : surroundings

export const planner =
  (deps: PlanDeps): Workload['plan'] =>
  async (owner, instance) => {
    const stored = storedSandbox(owner)
    const { runtime, held = false } = stored
    const volumes = await machineVolumes(deps.store, owner.workspace, stored.volumes)
    const way = wayOf(deps, stored)
    const image = await imageOf(deps, owner, instance)
    const origin = originOf(owner, instance)
    const { digest, rootfs } = instance.image ?? origin?.image ?? image
    const workdir = image.workdir || '/'
    const identity = await identityOf(deps, owner)
    return {
      // A machine that runs has what it was made with; an entrypoint starts with its daemon.
      onlyNew:
        Object.values(runtime.extraArgs ?? {}).includes('enabled') ||
        Boolean(runtime.entrypoint ?? origin) ||
        volumes.length > 0,
      ...(origin ? { files: origin.snapshot } : {}),
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
        ...(volumes.length > 0 ? { volumes } : {}),
        etc: { ...(way ? etcFiles(way) : {}), ...identityFiles(owner) },
        env: variables(deps, { owner, image, workdir, identity, way }),
      },
    }
  }
