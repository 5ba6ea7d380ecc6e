/** From a record and one of its revisions to the machine that runs it. */
import { fail } from '../../../shared/errors.ts'
import type { Image } from '../images/images.ts'
import type { Workload } from '../transitions/rules.ts'
import { etcFiles } from '../kinds/sandbox/network/outbound.ts'
import { cpusFor, identityOf, type PlanDeps } from '../kinds/sandbox/plan.ts'
import { storageMbOf } from '../kinds/sandbox/stored.ts'
import type { Instance, Resource } from '../store/store.ts'
import { specOfRevision, type Content, type ContentOf } from './content.ts'
import type { MachineCredentials } from './credentials.ts'
import { variables } from './environment.ts'

export interface WorkloadPlanDeps extends Omit<PlanDeps, 'wayOut'> {
  /** Names this box answers to; the first stands for none and for `auto`. */
  readonly regions: readonly string[]
  readonly credentials: Pick<MachineCredentials, 'clientOf'>
  /** Where this host is reached from outside. */
  readonly publicUrl: () => string
}

/** Above what programs are usually given, beside the ports of the daemon's channel and proxy. */
const daemonPort = 49_150

/** A machine that has started keeps what it was made from, whatever its name leads to now and whoever may still pull it. */
const imageOf = async (
  { images }: WorkloadPlanDeps,
  { image: reference }: Content,
  [owner, { image }]: readonly [Resource, Instance],
): Promise<Image> => {
  const kept = image && (await images.byDigest(image.digest))
  if (kept) return kept
  if (!reference)
    throw fail('image_refused', { image: '', reason: 'none is named: give an image, or upload what it is built from' })
  return images.need(reference, owner.workspace)
}

export const regionOf = ({ spec }: Pick<Resource, 'spec'>, regions: readonly string[]): string => {
  const region = spec['region'] as string | undefined
  return !region || region === 'auto' ? (regions[0] as string) : region
}

export const workloadPlanner =
  (deps: WorkloadPlanDeps, contentOf: ContentOf): Workload['plan'] =>
  async (owner, instance) => {
    const content = contentOf(specOfRevision(owner, instance.revision))
    const { surroundings: way, regions } = deps
    const image = await imageOf(deps, content, [owner, instance])
    const { digest, rootfs } = instance.image ?? image
    const workdir = image.workdir || '/'
    const identity = await identityOf(deps, owner)
    const region = regionOf(owner, regions)
    return {
      // Its command starts with its daemon.
      onlyNew: true,
      image: { digest, rootfs },
      spec: {
        id: instance.id,
        rootfs,
        memoryMb: content.memory,
        cpus: cpusFor(content.memory),
        storageMb: storageMbOf(content),
        hostname: owner.name,
        workdir,
        identity,
        daemonPort,
        ...(way ? { etc: etcFiles(way) } : {}),
        env: variables(deps, {
          type: owner.kind,
          region,
          content,
          image,
          workdir,
          identity,
          way,
          client: deps.credentials.clientOf(instance.id),
          publicUrl: deps.publicUrl(),
        }),
      },
    }
  }
