/** Builds by the host's configuration. */
import { join } from 'node:path'
import type { Closing } from '../../../shared/closing.ts'
import { writeWireNames } from '../../../shared/wire-names.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { Config } from '../../base/config.ts'
import { defaultImage } from '../images/default.ts'
import type { LoginFor } from '../images/pulling.ts'
import type { Images } from '../images/images.ts'
import type { Sealer } from '../secrets/secrets.ts'
import type { WireNames } from '../../base/wire/names.ts'
import type { Rules } from '../transitions/rules.ts'
import type { Transition } from '../transitions/transition.ts'
import type { Kind } from '../records/kind.ts'
import type { WayOut } from '../kinds/sandbox/network/outbound.ts'
import type { Store, Written } from '../store/store.ts'
import { builderRules } from './builder/rules.ts'
import { createBuild } from './builder/build.ts'
import { builderImages } from './builder/image.ts'
import { createMachines, type Reaching } from './builder/machine.ts'
import { createBuilds, type Builds } from './builds.ts'
import { createEngine } from './engine.ts'
import type { Buildable } from './finish.ts'
import { imageBuildRules } from './image-build.ts'
import { createMake } from './make.ts'
import { buildLogs } from './log.ts'
import { uploadAddresses } from './uploads/address.ts'
import { uploadFiles } from './uploads/files.ts'

const MiB = 1024 * 1024
/** What a builder has, and what a build may be and take. */
const limits = {
  size: { memoryMb: 4_096, cpus: 2, storageMb: 16_384 },
  uploadBytes: 512 * MiB,
  archive: { maxBytes: 4_096 * MiB, maxEntries: 200_000 },
  timeMs: 30 * 60_000,
} as const

/** What of the host builds use. */
interface Parts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly images: Images
  readonly sealer: Sealer
  readonly names: WireNames
  readonly secret: string
}

/** Rules of records that builds need. */
export const buildRules = (
  config: Config,
  parts: Parts,
  network: { readonly wayOut: WayOut | undefined; readonly surroundings: WayOut | undefined },
): readonly Rules[] => [
  builderRules({ ...parts, ...network, wireNames: writeWireNames(config.wireNames), size: limits.size }),
  imageBuildRules,
]

export interface OpenBuilds extends Builds {
  written(written: Written): void
  /** Takes up what an earlier process has left; to be called once, when machines are looked after. */
  begin(): Promise<void>
}

interface Later extends Reaching {
  readonly kinds: ReadonlyMap<string, Kind>
  readonly transition: () => Transition
  readonly poke: (kind: string, uid: string) => void
  readonly publicUrl: () => string
  /** Machines trust authorities beside those of their image. */
  readonly trusts: boolean
  /** Logins that pulls use for a while. */
  readonly lent: Map<string, NonNullable<Awaited<ReturnType<LoginFor>>>>
}

const buildableIn = (kinds: Later['kinds']): ReadonlyMap<string, Buildable> =>
  new Map<string, Buildable>([
    ...[...kinds.values()].filter(({ imageAt }) => imageAt).map(kind => [kind.kind, kind] as const),
    [imageBuildRules.kind, imageBuildRules],
  ])

export const openBuilds = async (config: Config, parts: Parts, later: Later, closer: Closing): Promise<OpenBuilds> => {
  const { images, clock, log, names, secret } = parts
  const directory = join(config.dataDir, 'builds')
  const files = await uploadFiles(join(directory, 'uploads'), limits.uploadBytes)
  const logs = await buildLogs(join(directory, 'logs'), error => log.warn('build.log.failed', { error }))
  const write: Transition = { write: (moves, by) => later.transition().write(moves, by) }
  const machines = createMachines({ ...parts, ...later, transition: write })
  const build = createBuild({
    images,
    machines,
    clock,
    builderImage: builderImages({ imagesDir: config.imagesDir, images, log }),
    limits: { ...limits.archive, timeMs: limits.timeMs, imageBytes: config.pullLimits.maxBytes },
    base: () => defaultImage(images, names.imageName('base-image:latest')),
    trusts: later.trusts,
    settings: names.list.map(({ short }) => `${short}.toml`),
  })
  const lend = (workspace: string, host: string, login: Parameters<Later['lent']['set']>[1] | undefined): void => {
    const key = `${workspace} ${host}`
    if (login) later.lent.set(key, login)
    else later.lent.delete(key)
  }
  const engine = createEngine({
    ...parts,
    transition: write,
    kinds: buildableIn(later.kinds),
    files,
    logs,
    make: createMake({ ...parts, build, files, lend }),
    poke: later.poke,
  })
  const addresses = uploadAddresses(secret)
  const builds = createBuilds({ ...parts, transition: () => write, addresses, files, logs, publicUrl: later.publicUrl })
  return {
    ...builds,
    written: engine.written,
    async begin() {
      machines.begin()
      await engine.begin()
      closer.add('builds', async () => {
        machines.close()
        await engine.close()
      })
    },
  }
}
