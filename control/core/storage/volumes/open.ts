/** Volumes of a host, and the contents of their templates. */
import type { Closing } from '../../../../shared/closing.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { createVolumeKeeper, type KeeperDeps, type VolumeKeeper } from './keeper.ts'
import { templateContents, type ContentsDeps, type TemplateContents } from './templates.ts'

type Deps = Omit<ContentsDeps, 'kind'> & Pick<KeeperDeps, 'log' | 'templateKind'> & { readonly drivers: Drivers }

export interface HostVolumes {
  readonly templates: TemplateContents
  /** Undefined where the driver has no volumes. */
  readonly keeper: VolumeKeeper | undefined
}

export const openVolumes = (deps: Deps, closer: Closing): HostVolumes => {
  const templates = templateContents({ ...deps, kind: deps.templateKind })
  const { volumes } = deps.drivers.preferred
  const keeper = volumes && createVolumeKeeper({ ...deps, volumes, contents: templates }, closer)
  return { templates, keeper }
}
