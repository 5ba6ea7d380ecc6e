/** From a sandbox's record to the machine it should be. */
import type { WireNames } from '../wire/names.ts'
import type { Image, Images } from '../images/images.ts'
import { internalOf } from '../instances/record.ts'
import type { Plan } from '../instances/reconciler.ts'
import { environmentOf, storedSandbox } from './stored.ts'
import type { Sealer } from '../secrets.ts'
import type { Resource, Store } from '../store/store.ts'

export interface PlanDeps {
  readonly images: Images
  readonly sealer: Sealer
  readonly names: WireNames
  readonly store: Store
  /** `HUTCH_WIRE_NAMES` as configured, for the daemon. */
  readonly wireNames: string
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** One core for 2 GB, never less than a quarter of one. */
export const cpusFor = (memoryMb: number): number => Math.max(0.25, memoryMb / 2048)

/** The daemon's own variables cannot be given by a caller: they would steer it. */
const withoutOurs = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HUTCH_')))

export const planner = (deps: PlanDeps): Plan => {
  const { images, sealer, names, store, wireNames } = deps

  const platform = async (row: Resource): Promise<Record<string, string>> => {
    const workspace = await store.tenants.workspace(row.workspace)
    return names.environment({
      ENV: 'prod',
      CLOUD: 'true',
      TYPE: 'sandbox',
      NAME: row.name,
      WORKSPACE: row.workspace,
      WORKSPACE_ID: workspace?.id ?? row.workspace,
      REGION: storedSandbox(row).region,
    })
  }

  return async row => {
    const { runtime } = storedSandbox(row)
    const image: Image = await images.resolve(runtime.image)
    const pinned = internalOf(row).image ?? { digest: image.digest, rootfs: image.rootfs }
    const workdir = image.workdir || '/'
    return {
      image: { digest: pinned.digest, rootfs: pinned.rootfs },
      spec: {
        id: row.uid,
        rootfs: pinned.rootfs,
        memoryMb: runtime.memory,
        cpus: cpusFor(runtime.memory),
        hostname: row.name,
        workdir,
        env: {
          PATH: systemPath,
          HOME: '/root',
          HOST: '0.0.0.0',
          DO_NOT_TRACK: '1',
          // What a daemon prints is kept on this box; a sandbox that wants its requests logged says "false".
          DISABLE_REQUEST_LOGGING: 'true',
          ...(await platform(row)),
          ...withoutOurs({ ...image.env, ...environmentOf(row, sealer) }),
          WORKDIR: workdir,
          HUTCH_WIRE_NAMES: wireNames,
        },
      },
    }
  }
}
