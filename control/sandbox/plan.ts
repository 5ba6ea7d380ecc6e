/** From a sandbox's record to the machine it should be. */
import { stat } from 'node:fs/promises'
import type { WireNames } from '../wire/names.ts'
import type { Image, Images } from '../images/images.ts'
import type { Workload } from '../reconcile/rules.ts'
import { environmentFor, etcFiles, type WayOut } from './network/outbound.ts'
import { environmentOf, storedSandbox } from './stored.ts'
import type { Sealer } from '../secrets.ts'
import type { Resource, Store } from '../store/store.ts'

export interface PlanDeps {
  readonly images: Pick<Images, 'resolve'>
  readonly sealer: Sealer
  readonly names: WireNames
  readonly store: Store
  /** `HUTCH_WIRE_NAMES` as configured, for the daemon. */
  readonly wireNames: string
  /** Absent where no machine can be held to an outbound policy. */
  readonly wayOut?: WayOut | undefined
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** One core for 2 GB, never less than a quarter of one. */
const cpusFor = (memoryMb: number): number => Math.max(0.25, memoryMb / 2048)

/** The daemon's own variables cannot be given by a caller: they would steer it. */
const withoutOurs = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HUTCH_')))

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

export const planner = (deps: PlanDeps): Workload['plan'] => {
  const { images, sealer, names, store, wireNames, wayOut } = deps

  const platform = async (owner: Resource): Promise<Record<string, string>> => {
    const workspace = await store.tenants.workspace(owner.workspace)
    return names.environment({
      ENV: 'prod',
      CLOUD: 'true',
      TYPE: 'sandbox',
      NAME: owner.name,
      WORKSPACE: owner.workspace,
      WORKSPACE_ID: workspace?.id ?? owner.workspace,
      REGION: storedSandbox(owner).region,
    })
  }

  return async (owner, instance) => {
    const stored = storedSandbox(owner)
    const { runtime, held = false } = stored
    const image: Image = await images.resolve(runtime.image)
    // One whose image somebody has removed is made from what has that name now.
    const pinned = instance.image && (await isThere(instance.image.rootfs)) ? instance.image : image
    const workdir = image.workdir || '/'
    return {
      image: { digest: pinned.digest, rootfs: pinned.rootfs },
      spec: {
        id: instance.id,
        rootfs: pinned.rootfs,
        memoryMb: runtime.memory,
        cpus: cpusFor(runtime.memory),
        hostname: owner.name,
        workdir,
        held,
        ...(held && wayOut ? { etc: etcFiles(wayOut) } : {}),
        env: {
          PATH: systemPath,
          HOME: '/root',
          HOST: '0.0.0.0',
          DO_NOT_TRACK: '1',
          // What a daemon prints is kept on this box; a sandbox that wants its requests logged says "false".
          DISABLE_REQUEST_LOGGING: 'true',
          ...(await platform(owner)),
          ...(held && wayOut ? environmentFor(wayOut, stored) : {}),
          ...withoutOurs({ ...image.env, ...environmentOf(owner, sealer) }),
          WORKDIR: workdir,
          HUTCH_WIRE_NAMES: wireNames,
        },
      },
    }
  }
}
