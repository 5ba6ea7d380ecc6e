/**
 * The builder of a workspace: a record with one machine in which all its builds run, one after the other. Its layers stay in it, so
 * that what did not change is not built again; nobody else's builds ever see them.
 */
import type { Images } from '../../images/images.ts'
import type { Rules } from '../../transitions/rules.ts'
import { stateTable } from '../../transitions/state-table.ts'
import { commonEnvironment } from '../../kinds/sandbox/environment.ts'
import { environmentFor, etcFiles, type WayOut } from '../../kinds/sandbox/network/outbound.ts'
import { policyOf } from '../../kinds/sandbox/network/policy.ts'
import { checkStored, type StoredNetwork } from '../../kinds/sandbox/network/stored.ts'
import type { Sealer } from '../../secrets/secrets.ts'
import type { Resource, Store } from '../../store/store.ts'
import type { WireNames } from '../../../base/wire/names.ts'

export const builderKind = 'builder'
/** The image that its machine is made of. */
export const builderImage = 'builder'
/** The one name there is of them in a workspace. */
export const builderName = 'builder'

export interface BuilderSpec {
  /** Digest of the image that its machine is made of: another one, another machine. */
  readonly made: string
  /** Outbound policy of the record that is being built. */
  readonly network?: StoredNetwork
}

export interface BuilderSize {
  readonly memoryMb: number
  readonly cpus: number
  readonly storageMb: number
}

export interface BuilderDeps {
  readonly images: Pick<Images, 'resolve' | 'byDigest'>
  readonly sealer: Sealer
  readonly names: WireNames
  readonly store: Pick<Store, 'tenants'>
  /** `HUTCH_WIRE_NAMES` for the daemon. */
  readonly wireNames: string
  /** Absent where no machine can be held to an outbound policy. */
  readonly wayOut?: WayOut | undefined
  /** What machines that are held to none are told of the network that this host is in. */
  readonly surroundings?: WayOut | undefined
  readonly size: BuilderSize
}

/** One that cannot be made says why, and the next build makes another. */
const life = stateTable('DEPLOYING', {
  DEPLOYING: { waiting: 'DEPLOYING', deployed: 'DEPLOYED', broke: 'FAILED', delete: 'DELETING' },
  DEPLOYED: { lost: 'DEPLOYING', delete: 'DELETING' },
  FAILED: { delete: 'DELETING' },
  DELETING: { delete: 'DELETING' },
})

const idleMs = 15_000
const reclaimAfterMs = 60_000

const specOf = ({ spec }: Pick<Resource, 'spec'>): BuilderSpec => spec as unknown as BuilderSpec

export const builderRules = (deps: BuilderDeps): Rules => {
  const { images, sealer, names, store, wayOut, surroundings, wireNames, size } = deps
  const held = wayOut !== undefined
  const way = wayOut ?? surroundings
  return {
    kind: builderKind,
    life,
    hiddenStatuses: [],
    workload: {
      wanted: owner =>
        owner.status === 'DEPLOYING' || owner.status === 'DEPLOYED' ? [{ revision: specOf(owner).made, count: 1 }] : [],
      rates: () => [],
      storageMb: () => size.storageMb,
      standby: () => ({ afterMs: idleMs, reclaimAfterMs }),
      outbound(owner) {
        if (!held) return undefined
        const { network } = specOf(owner)
        return { version: JSON.stringify(network ?? {}), open: () => policyOf(checkStored(network), sealer) }
      },
      async plan(owner, instance) {
        const image =
          (instance.image && (await images.byDigest(instance.image.digest))) ?? (await images.resolve(builderImage))
        const { digest, rootfs, workdir } = image
        const workspaceId = (await store.tenants.workspace(owner.workspace))?.id ?? owner.workspace
        const told = { network: specOf(owner).network, ...(held ? { held: true as const } : {}) }
        return {
          // Only one that is made for it may nest.
          onlyNew: true,
          image: { digest, rootfs },
          spec: {
            ...size,
            id: instance.id,
            rootfs,
            hostname: builderName,
            workdir,
            held,
            nests: true,
            identity: { name: builderName, workspace: owner.workspace, workspaceId, labels: {} },
            ...(way ? { etc: etcFiles(way) } : {}),
            env: {
              ...commonEnvironment(names, image),
              ...(way ? environmentFor(way, told as never) : {}),
              WORKDIR: workdir,
              HUTCH_WIRE_NAMES: wireNames,
            },
          },
        }
      },
    },
  }
}
